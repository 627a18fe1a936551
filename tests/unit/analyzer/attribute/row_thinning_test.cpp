// Purpose: of a run with too many rows, those of rare steps and of the ends remain, and some of the others.
#include "analyzer/attribute/row_thinning.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace memtrace::replay {
namespace {

constexpr std::size_t kMost = 20'000;
constexpr std::int64_t kSteps = 100'000, kSpike = 77'777, kRare = 33'333, kPlain = 55'555;

Row row_of(std::int64_t step, PathId path, std::int64_t rise) {
  Row row;
  row.path = path;
  row.step = static_cast<Step>(step);
  row.count = 1;
  row.memory.resize(1);
  row.memory[0].live.entry = 100;
  row.memory[0].live.peak = 100 + rise;
  return row;
}

// Two phases in each step. One step rises high, and one has a third phase.
std::set<std::int64_t> steps_left(RowThinning& thinning) {
  Rows rows;
  std::size_t most = 0;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    rows.add(row_of(step, PathId{1}, step == kSpike ? 5000 : 10 + step % 7));
    rows.add(row_of(step, PathId{2}, 0));
    if (step == kRare) rows.add(row_of(step, PathId{3}, 0));
    if (thinning.is_due(rows)) thinning.thin(rows);
    most = std::max(most, rows.size());
  }
  EXPECT_LE(most, kMost + 3);
  std::map<std::int64_t, std::size_t> of_step;
  for (const Row& row : rows) ++of_step[static_cast<std::int64_t>(row.step)];
  std::set<std::int64_t> out;
  for (const auto& [step, count] : of_step) {
    EXPECT_EQ(count, step == kRare ? 3u : 2u) << step; // a step has all of its rows, or none
    out.insert(step);
  }
  return out;
}

TEST(RowThinning, RareStepsAndTheEndsRemain) {
  RowThinning thinning(kMost);
  const std::set<std::int64_t> left = steps_left(thinning);
  EXPECT_GT(thinning.stride(), 1u);
  for (const std::int64_t step :
       {kSpike, kRare, std::int64_t{0}, std::int64_t{1}, std::int64_t{1000}, kSteps - 1})
    EXPECT_TRUE(left.contains(step)) << step;
  EXPECT_FALSE(left.contains(kPlain));
  std::size_t regular = 0;
  for (const std::int64_t step : left) regular += static_cast<std::uint64_t>(step) % thinning.stride() == 0;
  EXPECT_GE(regular, static_cast<std::size_t>(kSteps) / thinning.stride());
}

TEST(RowThinning, StepsThatWereAskedForRemain) {
  RowThinning thinning(kMost);
  thinning.want({.from = kPlain, .to = kPlain + 2});
  thinning.keep(static_cast<Step>(kPlain + 4));
  const std::set<std::int64_t> left = steps_left(thinning);
  for (const std::int64_t step : {0, 1, 2, 4}) EXPECT_TRUE(left.contains(kPlain + step)) << step;
  EXPECT_FALSE(left.contains(kPlain + 6));
}

TEST(RowThinning, AllStepsRemainIfAllAreWanted) {
  RowThinning thinning(kMost);
  thinning.want({.all = true});
  Rows rows;
  for (std::int64_t step = 0; step < 3 * static_cast<std::int64_t>(kMost); ++step)
    rows.add(row_of(step, PathId{1}, 0));
  EXPECT_FALSE(thinning.is_due(rows));
  EXPECT_EQ(thinning.stride(), 1u);
}

} // namespace
} // namespace memtrace::replay
