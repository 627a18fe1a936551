// Purpose: rows of many steps in little room: each bucket has the extremes of its steps, whatever it was
// widened to.
#include "preload/rollup/rollup_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

#include "host.h"
#include "rows.h"
#include "tests/unit/seed.h"

namespace memtrace::rollup {
namespace {

using format::kNoStepBucket;
using format::PhaseRow;
using format::SiteRow;

PhaseRow phase_row(std::uint64_t step, std::uint32_t path, std::int64_t seed) {
  PhaseRow row{};
  row.bucket = step;
  row.steps = 1;
  row.path = path;
  for (std::size_t i = 0; i < format::kFigures; ++i) {
    const std::int64_t value = seed * static_cast<std::int64_t>(i + 1) % 1009 - 500;
    row.figures[i] = {value, value};
  }
  return row;
}

SiteRow site_row(std::uint64_t step, std::uint32_t path, std::uint32_t stack, std::uint64_t bytes) {
  SiteRow row{};
  row.bucket = step;
  row.path = path;
  row.stack = stack;
  row.count = 1;
  row.sum = row.min = row.max = bytes;
  return row;
}

TEST(FileRows, EveryBucketEnclosesItsSteps) {
  tests::RollupFile file(64 * 1024);
  FileRows rows;
  rows.attach(file.memory(), file.bytes(), 42, 1);
  std::mt19937_64 random(tests::seed(3));
  std::map<std::uint32_t, std::map<std::uint64_t, PhaseRow>> model; // path, step
  constexpr std::uint64_t kFirst = 777, kSteps = 20'000;
  for (std::uint32_t path = 1; path < 4; ++path) {
    model[path][kNoStepBucket] = phase_row(kNoStepBucket, path, path);
    rows.add(PhaseRow(model[path][kNoStepBucket]));
  }
  for (std::uint64_t step = kFirst; step < kFirst + kSteps; ++step)
    for (std::uint32_t path = 1; path < 4; ++path) {
      if (random() % 3 == 0) continue; // not every step has every phase
      model[path][step] = phase_row(step, path, static_cast<std::int64_t>(random() % 100'000));
      rows.add(PhaseRow(model[path][step]));
    }
  const format::RollupHalf& half = rows.half();
  std::uint64_t first = kNoStepBucket;
  for (const auto& [path, steps] : model) first = std::min(first, steps.begin()->first);
  EXPECT_EQ(half.first_step, first);
  EXPECT_GE(half.phase_width, kSteps / FileRows::kBuckets);
  std::uint64_t steps = 0;
  for (const PhaseRow& row : tests::phases_in(file.memory())) {
    steps += row.steps;
    std::uint64_t covered = 0;
    PhaseRow truth{};
    for (const auto& [step, one] : model[row.path]) {
      const std::uint64_t bucket = step == kNoStepBucket ? step : step / half.phase_width;
      if (bucket != row.bucket) continue;
      for (std::size_t i = 0; i < format::kFigures; ++i) {
        auto& figure = truth.figures[i];
        figure.max = covered == 0 ? one.figures[i].max : std::max(figure.max, one.figures[i].max);
        figure.min = covered == 0 ? one.figures[i].min : std::min(figure.min, one.figures[i].min);
      }
      ++covered;
    }
    EXPECT_EQ(row.steps, covered);
    for (std::size_t i = 0; i < format::kFigures; ++i) {
      EXPECT_EQ(row.figures[i].max, truth.figures[i].max) << row.bucket << " " << i;
      EXPECT_EQ(row.figures[i].min, truth.figures[i].min) << row.bucket << " " << i;
    }
  }
  EXPECT_EQ(steps, model[1].size() + model[2].size() + model[3].size()) << "no step is lost";
}

TEST(FileRows, SitesThatDoNotFitAreCountedWithoutStack) {
  tests::RollupFile file(64 * 1024);
  FileRows rows;
  rows.attach(file.memory(), file.bytes(), 42, 1);
  std::mt19937_64 random(tests::seed(5));
  std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> truth; // path: count, sum
  for (std::uint64_t step = 0; step < 300; ++step)
    for (int i = 0; i < 40; ++i) {
      const auto path = static_cast<std::uint32_t>(1 + random() % 2);
      const std::uint64_t bytes = random() % 1000;
      rows.add(site_row(step, path, static_cast<std::uint32_t>(1 + random() % 5000), bytes));
      ++truth[path].first;
      truth[path].second += bytes;
    }
  std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> found;
  bool rest = false;
  for (const SiteRow& row : tests::sites_in(file.memory())) {
    found[row.path].first += row.count;
    found[row.path].second += row.sum;
    rest = rest || row.stack == 0;
  }
  EXPECT_EQ(found, truth);
  EXPECT_TRUE(rest) << "all fitted: this tests nothing";
}

TEST(FileRows, AStepFarAwayWidensAtOnce) {
  tests::RollupFile file(256 * 1024);
  FileRows rows;
  rows.attach(file.memory(), file.bytes(), 42, 1);
  rows.add(phase_row(3, 1, 5));
  rows.add(phase_row(std::uint64_t{1} << 40, 1, 6));
  EXPECT_EQ(tests::phases_in(file.memory()).size(), 2u);
  EXPECT_LE((std::uint64_t{1} << 40) / rows.half().phase_width, FileRows::kBuckets);
}

} // namespace
} // namespace memtrace::rollup
