// Purpose: the numbers that stand for addresses.
#include "analyzer/columns/block_history.h"

#include <gtest/gtest.h>

namespace memtrace::columns {
namespace {

constexpr std::uint64_t kStride = 64;

TEST(BlockHistory, NumbersBlocksByTheirBirths) {
  BlockHistory history(true);
  EXPECT_EQ(history.births_since(0), 0u);
  history.born({0x1000, 24, 3, 1});
  history.born({0x2000, 40, 0, 2});
  EXPECT_EQ(history.births_since(0x1000), 2u);
  EXPECT_EQ(history.births_since(0x2000), 1u);
  EXPECT_EQ(history.births_since(0x3000), 0u);
  ASSERT_NE(history.birth(2), nullptr);
  EXPECT_EQ(history.birth(2)->given, 24u);
  EXPECT_EQ(history.birth(2)->flags, 3u);
  EXPECT_EQ(history.birth(0), nullptr);
  EXPECT_EQ(history.birth(3), nullptr);
}

TEST(BlockHistory, ForgetsTheOldestBirths) {
  BlockHistory history(true);
  for (std::uint64_t i = 0; i <= BlockHistory::kBirths; ++i) history.born({kStride * (i + 1), 24, 0, 1});
  EXPECT_EQ(history.births_since(kStride), 0u);
  EXPECT_EQ(history.births_since(kStride * (BlockHistory::kBirths + 1)), 1u);
  EXPECT_EQ(history.birth(BlockHistory::kBirths)->address, 2 * kStride);
  EXPECT_EQ(history.birth(BlockHistory::kBirths + 1), nullptr);
}

TEST(BlockHistory, GivesTheBlockThatWasFreedLastFirst) {
  BlockHistory history(false);
  for (const std::uint64_t address : {0x1000, 0x2000, 0x3000}) history.freed({address, 24, 0, 1});
  history.freed({0x9000, 48, 0, 1});
  EXPECT_EQ(history.freed_after(24, 0x3000), 0u);
  EXPECT_EQ(history.freed_after(24, 0x1000), 2u);
  EXPECT_EQ(history.freed_after(48, 0x1000), std::nullopt);
  EXPECT_EQ(history.take_freed(24, 1), 0x2000u);
  EXPECT_EQ(history.freed_after(24, 0x2000), std::nullopt);
  EXPECT_EQ(history.take_freed(24, 1), 0x1000u);
  EXPECT_EQ(history.take_freed(24, 1), std::nullopt);
  EXPECT_EQ(history.take_freed(99, 0), std::nullopt);
}

TEST(BlockHistory, ForgetsTheBlocksThatWereFreedFirst) {
  BlockHistory history(false);
  for (std::uint64_t i = 0; i <= BlockHistory::kFreed; ++i) history.freed({kStride * (i + 1), 24, 0, 1});
  EXPECT_EQ(history.freed_after(24, kStride), std::nullopt);
  EXPECT_EQ(history.freed_after(24, 2 * kStride), BlockHistory::kFreed - 1);
}

} // namespace
} // namespace memtrace::columns
