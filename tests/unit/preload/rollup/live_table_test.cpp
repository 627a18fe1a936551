// Purpose: the table of live blocks against std::map, through growth, deletion and shared addresses.
#include "preload/rollup/live_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <tuple>

#include "host.h"
#include "tests/unit/seed.h"

namespace memtrace::rollup {
namespace {

using Key = std::tuple<std::uint64_t, std::uint8_t, unsigned>;

LedgerBlock block_at(std::uint64_t address, std::uint8_t memory, format::Kind kind, std::uint64_t given) {
  LedgerBlock block{};
  block.address = address;
  block.memory = memory;
  block.kind = static_cast<std::uint8_t>(kind);
  block.given = given;
  block.state = LedgerBlock::kUsed;
  return block;
}

TEST(Live, LikeAMap) {
  const Host host = tests::host();
  Live live;
  std::map<Key, std::uint64_t> model;
  std::mt19937_64 random(tests::seed(7));
  constexpr format::Kind kinds[] = {format::Kind::heap, format::Kind::none, format::Kind::registered};
  for (int i = 0; i < 200'000; ++i) {
    // Few addresses, close together: clusters that wrap around the table's end.
    const std::uint64_t address = (random() % 12'000) * 16;
    const auto memory = static_cast<std::uint8_t>(random() % 2);
    const format::Kind kind = kinds[random() % 3];
    const unsigned table = Live::table_of(static_cast<std::uint8_t>(kind));
    LedgerBlock* const found = live.find(address, memory, table);
    const auto known = model.find({address, memory, table});
    ASSERT_EQ(found != nullptr, known != model.end());
    if (found != nullptr) {
      ASSERT_EQ(found->given, known->second);
      live.erase(found);
      model.erase(known);
    } else {
      ASSERT_TRUE(live.add(host, block_at(address, memory, kind, random())));
      model[{address, memory, table}] = live.find(address, memory, table)->given;
    }
  }
  EXPECT_EQ(live.size(), model.size());
  std::size_t seen = 0;
  live.each([&](const LedgerBlock& block) {
    ++seen;
    EXPECT_EQ(model.at({block.address, block.memory, Live::table_of(block.kind)}), block.given);
  });
  EXPECT_EQ(seen, model.size());
  EXPECT_EQ(tests::world.bytes, live.bytes()) << "what it grew out of is given back";
}

// A young place that never had a block looks like the key of this one: address 0, memory 0, kind none.
TEST(Live, FindsTheBlockOfTheEmptyKey) {
  const Host host = tests::host();
  Live live;
  ASSERT_TRUE(live.add(host, block_at(0, 0, format::Kind::none, 1)));
  for (std::uint64_t i = 1; i <= 4 * Live::kFirst; ++i) {
    ASSERT_TRUE(live.add(host, block_at(16 * i, 0, format::Kind::none, 1)));
    ASSERT_NE(live.find(0, 0, Live::table_of(static_cast<std::uint8_t>(format::Kind::none))), nullptr) << i;
  }
}

// The young places grow with the old ones, and blocks keep theirs or move.
TEST(Live, GrowsWithWhatLives) {
  const Host host = tests::host();
  Live live;
  std::mt19937_64 random(tests::seed(7));
  std::map<std::uint64_t, std::uint64_t> model; // address, bytes
  while (model.size() < 4 * Live::kMostYoung) {
    const std::uint64_t address = random() % (1u << 20) * 16;
    LedgerBlock* const found = live.find(address, 0, 0);
    const auto known = model.find(address);
    ASSERT_EQ(found != nullptr, known != model.end());
    if (found != nullptr && random() % 4 == 0) {
      ASSERT_EQ(found->given, known->second);
      live.erase(found);
      model.erase(known);
    } else if (found == nullptr) {
      ASSERT_TRUE(live.add(host, block_at(address, 0, format::Kind::heap, model[address] = random())));
    }
  }
  EXPECT_EQ(live.size(), model.size());
  for (const auto& [address, given] : model) {
    LedgerBlock* const found = live.find(address, 0, 0);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->given, given);
    live.erase(found);
  }
  EXPECT_EQ(live.size(), 0u);
  live.each([](const LedgerBlock&) { FAIL(); });
}

TEST(Live, ARefusalLeavesItWhole) {
  const Host host = tests::host();
  Live live;
  std::uint64_t added = 0;
  const auto add = [&] { return live.add(host, block_at(16 * (added + 1), 0, format::Kind::heap, 1)); };
  for (; live.bytes() < (Live::kFirst + Live::kFirstYoung) * sizeof(LedgerBlock); ++added) ASSERT_TRUE(add());
  tests::world.most = tests::world.bytes;
  while (add()) ++added;
  EXPECT_GT(added, Live::kFirst / 4 * 3);
  EXPECT_LE(added, Live::kFirst / 4 * 3 + Live::kFirstYoung);
  EXPECT_EQ(live.size(), added);
  for (std::uint64_t i = 1; i <= added; ++i) EXPECT_NE(live.find(16 * i, 0, 0), nullptr);
}

// The table of old blocks grew, and there is no memory for that of young blocks. It stays as it is, until a
// later growth finds memory.
TEST(Live, OldBlocksGrowAlone) {
  const Host host = tests::host();
  Live live;
  const auto add = [&](std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t i = from; i < to; ++i) {
      ASSERT_TRUE(live.add(host, block_at(i * 16, 0, format::Kind::heap, i))) << i;
    }
  };
  add(1, 2);
  const std::size_t young = live.bytes();
  tests::world.most = young + 2 * Live::kFirst * sizeof(LedgerBlock);
  add(2, 3 * Live::kFirst / 2);
  EXPECT_EQ(live.bytes(), tests::world.most) << "old blocks took all there was";
  tests::world.most = ~std::size_t{0};
  add(3 * Live::kFirst / 2, 16 * Live::kFirst);
  EXPECT_EQ(live.size(), 16 * Live::kFirst - 1);
  for (std::uint64_t i = 1; i < 16 * Live::kFirst; ++i) {
    LedgerBlock* const found =
        live.find(i * 16, 0, Live::table_of(static_cast<std::uint8_t>(format::Kind::heap)));
    ASSERT_NE(found, nullptr) << i;
    EXPECT_EQ(found->given, i);
  }
  EXPECT_EQ(tests::world.bytes, live.bytes());
}

} // namespace
} // namespace memtrace::rollup
