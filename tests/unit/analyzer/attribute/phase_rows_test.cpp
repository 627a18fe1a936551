// Purpose: rows come out of their packing as they went in, and blocks out of their table, however many there
// are.
#include "analyzer/attribute/phase_rows.h"

#include <map>
#include <random>

#include "analyzer/replay/block_table.h"
#include "folded.h"
#include "tests/unit/seed.h"

namespace memtrace::replay {
namespace {

using tests::Builder;
using tests::Folded;

auto values(const Figures& f) {
  return std::tuple(f.entry, f.exit, f.peak, f.transient, f.net, f.peak_at);
}
auto values(const Resident& r) {
  return std::tuple(r.anon, r.file, r.shmem);
}

void expect_same(const Row& a, const Row& b) {
  EXPECT_EQ(a.path, b.path);
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.began, b.began);
  EXPECT_EQ(a.count, b.count);
  EXPECT_EQ(a.skipped, b.skipped);
  EXPECT_EQ(a.partial, b.partial);
  EXPECT_EQ(a.again, b.again);
  ASSERT_EQ(a.memory.size(), b.memory.size());
  for (std::size_t i = 0; i < a.memory.size(); ++i) {
    EXPECT_EQ(values(a.memory[i].live), values(b.memory[i].live));
    EXPECT_EQ(values(a.memory[i].tensor), values(b.memory[i].tensor));
    EXPECT_EQ(values(a.memory[i].reserved), values(b.memory[i].reserved));
    EXPECT_EQ(values(a.memory[i].used), values(b.memory[i].used));
    EXPECT_EQ(a.memory[i].allocated, b.memory[i].allocated);
    EXPECT_EQ(a.memory[i].freed, b.memory[i].freed);
    EXPECT_EQ(a.memory[i].allocations, b.memory[i].allocations);
  }
  ASSERT_EQ(a.rss.has_value(), b.rss.has_value());
  if (!a.rss) return;
  EXPECT_EQ(values(a.rss->entry), values(b.rss->entry));
  EXPECT_EQ(values(a.rss->exit), values(b.rss->exit));
  EXPECT_EQ(values(a.rss->peak), values(b.rss->peak));
}

// Small numbers and the largest there are.
std::uint64_t any_number(std::mt19937_64& random) {
  return random() >> random() % 64;
}

Figures any_figures(std::mt19937_64& random) {
  const auto number = [&] { return static_cast<std::int64_t>(any_number(random)); };
  return {number(), number(), number(), number(), number(), any_number(random)};
}

Row any_row(std::mt19937_64& random) {
  Row row;
  row.path = static_cast<PathId>(random() % 5);
  row.step = static_cast<Step>(static_cast<std::int64_t>(any_number(random)));
  row.began = any_number(random);
  row.count = any_number(random);
  row.skipped = random() % 2 == 0;
  row.partial = random() % 2 == 0;
  row.again = random() % 2 == 0;
  row.memory.resize(random() % 4);
  for (MemoryRow& memory : row.memory) {
    memory.live = any_figures(random), memory.tensor = any_figures(random);
    memory.reserved = any_figures(random), memory.used = any_figures(random);
    memory.allocated = any_number(random), memory.freed = any_number(random);
    memory.allocations = any_number(random);
  }
  const auto resident = [&] { return Resident{any_number(random), any_number(random), any_number(random)}; };
  if (random() % 2 == 0) row.rss = ResidentSpan{resident(), resident(), resident()};
  return row;
}

TEST(Rows, ComeOutAsTheyWentIn) {
  std::mt19937_64 random(tests::seed(7));
  std::vector<Row> plain;
  Rows rows;
  for (int i = 0; i < 2000; ++i) rows.add(plain.emplace_back(any_row(random)));
  ASSERT_EQ(rows.size(), plain.size());
  std::size_t at = 0;
  for (const Row& row : rows) {
    expect_same(row, plain[at++]);
    if (HasFailure()) FAIL() << "row " << at - 1;
  }
  EXPECT_EQ(at, plain.size());
}

// A script that numbers its steps anew in each epoch: rows that were packed long ago go on.
TEST(Rows, AStepThatComesAgainGoesOnWithItsRow) {
  constexpr std::uint64_t kSteps = 200, kEpochs = 3;
  Builder builder;
  for (std::uint64_t epoch = 0; epoch < kEpochs; ++epoch) {
    for (std::uint64_t step = 0; step < kSteps; ++step) {
      const std::uint64_t address = 0x1000 * (1 + epoch * kSteps + step);
      builder.step(step).begin("forward").birth(address, 100 + step).end("forward");
      builder.begin("eval").death(address).end("eval");
    }
  }
  const Folded folded(builder);
  ASSERT_EQ(folded.account.rows.size(), 2 * kSteps); // each path of each step once
  for (const std::int64_t step : {0, 77, 199}) {
    const Row& row = folded.row("forward", step);
    EXPECT_EQ(row.count, kEpochs);
    EXPECT_EQ(row.of(0).allocated, kEpochs * (100 + static_cast<std::uint64_t>(step)));
    EXPECT_EQ(row.of(0).live.net, static_cast<std::int64_t>(row.of(0).allocated));
    EXPECT_EQ(row.of(0).live.peak, 100 + step);
    EXPECT_EQ(row.of(0).live.entry, 0);
    EXPECT_EQ(folded.row("eval", step).of(0).freed, row.of(0).allocated);
  }
}

TEST(BlockTable, HasWhatAMapHas) {
  std::mt19937_64 random(tests::seed(3));
  BlockTable<std::uint64_t> table;
  std::map<std::pair<std::uint8_t, std::uint64_t>, std::uint64_t> map;
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    const auto memory = static_cast<std::uint8_t>(random() % 3);
    const std::uint64_t address = random() % 2000 * 16;
    if (random() % 2 == 0) {
      const auto [at, fresh] = table.insert(memory, address, i);
      const auto [in_map, fresh_in_map] = map.try_emplace({memory, address}, i);
      ASSERT_EQ(fresh, fresh_in_map);
      ASSERT_EQ(*at, in_map->second);
    } else {
      const std::uint64_t* taken = table.take(memory, address);
      const auto in_map = map.find({memory, address});
      ASSERT_EQ(taken != nullptr, in_map != map.end());
      if (taken == nullptr) continue;
      ASSERT_EQ(*taken, in_map->second);
      map.erase(in_map);
    }
    ASSERT_EQ(table.size(), map.size());
  }
  std::size_t seen = 0;
  table.each([&](std::uint64_t) { ++seen; });
  EXPECT_EQ(seen, map.size());
  for (const auto& [key, value] : map) {
    const std::uint64_t* found = table.find(key.first, key.second);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(*found, value);
  }
}

} // namespace
} // namespace memtrace::replay
