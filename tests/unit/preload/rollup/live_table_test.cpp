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

TEST(Live, ARefusalLeavesItWhole) {
  const Host host = tests::host();
  Live live;
  ASSERT_TRUE(live.add(host, block_at(16, 0, format::Kind::heap, 1)));
  tests::world.most = tests::world.bytes;
  std::uint64_t added = 1;
  while (live.add(host, block_at(16 * (added + 1), 0, format::Kind::heap, 1))) ++added;
  EXPECT_EQ(added, Live::kFirst / 4 * 3);
  EXPECT_EQ(live.size(), added);
  for (std::uint64_t i = 1; i <= added; ++i) EXPECT_NE(live.find(16 * i, 0, 0), nullptr);
}

} // namespace
} // namespace memtrace::rollup
