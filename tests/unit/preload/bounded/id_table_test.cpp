// Purpose: the append-only table.
#include "preload/bounded/id_table.h"

#include <gtest/gtest.h>

namespace memtrace::record {
namespace {

struct Entry {
  std::uint64_t key;
  std::uint64_t hash;
};
using Small = IdTable<Entry, 16>;

std::uint64_t hash_of(const Entry& entry) {
  return entry.hash;
}

template <class Of>
std::uint32_t add(Of& table, std::uint64_t key, std::uint64_t hash) {
  const std::uint32_t id = table.find_or_add(
      hash, [&](const Entry& entry) { return entry.key == key; }, &hash_of);
  if (table.added()) table.at(id) = {key, hash};
  return id;
}

TEST(IdTable, IdsCountFromOne) {
  Small table;
  EXPECT_EQ(add(table, 10, 100), 1u);
  EXPECT_TRUE(table.added());
  EXPECT_EQ(add(table, 20, 200), 2u);
  EXPECT_EQ(add(table, 10, 100), 1u);
  EXPECT_FALSE(table.added());
  EXPECT_EQ(table.end(), 3u);
  EXPECT_EQ(table.at(2).key, 20u);
}

TEST(IdTable, NewEntriesAreZero) {
  Small table;
  const std::uint32_t id = table.find_or_add(
      1, [](const Entry&) { return false; }, &hash_of);
  EXPECT_EQ(table.at(id).key, 0u);
}

TEST(IdTable, SameHashDifferentEntries) {
  Small table;
  for (std::uint64_t key = 1; key <= 10; ++key) EXPECT_EQ(add(table, key, 0x500000007), key);
  for (std::uint64_t key = 1; key <= 10; ++key) EXPECT_EQ(add(table, key, 0x500000007), key);
}

TEST(IdTable, SamePlaceDifferentTag) {
  Small table;
  EXPECT_EQ(add(table, 1, 0x300000100), 1u);
  // `same` says yes to anything: the tag alone must keep them apart.
  EXPECT_EQ(table.find_or_add(
                0x300000200, [](const Entry&) { return true; }, &hash_of),
            2u);
}

TEST(IdTable, GrowsAndFindsWhatItHad) {
  using Large = IdTable<Entry, 64 * 1024>;
  Large table;
  const auto find = [&](std::uint64_t key) { return add(table, key, key * 0x9E3779B97F4A7C15u); };
  std::uint64_t bytes = table.bytes();
  for (std::uint64_t key = 1; key < 64 * 1024; ++key) {
    ASSERT_EQ(find(key), key);
    ASSERT_TRUE(table.added());
    ASSERT_GE(table.bytes(), bytes) << "memory never shrinks";
    bytes = table.bytes();
  }
  for (std::uint64_t key = 1; key < 64 * 1024; ++key) {
    ASSERT_EQ(find(key), key);
    ASSERT_FALSE(table.added());
  }
  EXPECT_EQ(find(1 << 20), 0u) << "it is full";
}

TEST(IdTable, UndoGivesTheIdAgain) {
  Small table;
  add(table, 1, 7);
  EXPECT_EQ(add(table, 2, 7), 2u);
  table.undo();
  EXPECT_FALSE(table.added());
  EXPECT_EQ(table.end(), 2u);
  EXPECT_EQ(add(table, 1, 7), 1u);
  EXPECT_EQ(add(table, 3, 7), 2u);
  EXPECT_TRUE(table.added());
}

TEST(IdTable, FullStillFinds) {
  Small table;
  for (std::uint64_t key = 1; key <= 15; ++key) ASSERT_EQ(add(table, key, key * 0x9E3779B97F4A7C15u), key);
  EXPECT_EQ(add(table, 16, 16 * 0x9E3779B97F4A7C15u), 0u);
  EXPECT_FALSE(table.added());
  for (std::uint64_t key = 1; key <= 15; ++key) EXPECT_EQ(add(table, key, key * 0x9E3779B97F4A7C15u), key);
}

} // namespace
} // namespace memtrace::record
