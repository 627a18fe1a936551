// Purpose: tests that the highest level of training is found among the steps with events and the rolled up
// ones.
#include "analyzer/explain/training_peak.h"

#include <gtest/gtest.h>

namespace memtrace::report {
namespace {

using replay::Measure;
using replay::Row;
using replay::Step;

Row row(Step step, std::int64_t live, std::int64_t tensor) {
  Row out;
  out.path = replay::PathId{1};
  out.step = step;
  out.count = 1;
  out.memory.resize(1);
  out.memory[0].live.peak = live;
  out.memory[0].live.peak_at = 7;
  out.memory[0].tensor.peak = tensor;
  return out;
}

TEST(TrainingPeak, IsTheHighestOfAPhaseInAStep) {
  replay::Account account;
  account.rows.add(row(Step::none, 900, 900));
  account.rows.add(row(Step{0}, 300, 20));
  account.rows.add(row(Step{1}, 200, 30));
  Row other = row(Step{1}, 800, 800);
  other.path = replay::PathId::other;
  other.count = 0; // it has no levels
  account.rows.add(other);
  const auto live = training_peak(account, {}, 0, Measure::live);
  ASSERT_TRUE(live);
  EXPECT_EQ(live->bytes, 300);
  EXPECT_EQ(live->step, Step{0});
  EXPECT_EQ(live->at, 7u);
  EXPECT_FALSE(live->bucket);
  EXPECT_EQ(training_peak(account, {}, 0, Measure::tensor)->step, Step{1});
}

TEST(TrainingPeak, OfStepsThatAreRolledUpIsOneOfTheirRange) {
  replay::Account account;
  account.rows.add(row(Step{9}, 300, 0));
  replay::Buckets buckets;
  buckets.rows.push_back({{Step{2}, Step{5}}, row(Step{2}, 400, 0), row(Step{2}, 100, 0)});
  const auto peak = training_peak(account, buckets, 0, Measure::live);
  ASSERT_TRUE(peak && peak->bucket);
  EXPECT_EQ(peak->bytes, 400);
  EXPECT_EQ(peak->bucket->last, Step{5});
}

TEST(TrainingPeak, WithoutAStepThereIsNone) {
  replay::Account account;
  account.rows.add(row(Step::none, 900, 900));
  EXPECT_FALSE(training_peak(account, {}, 0, Measure::live));
}

} // namespace
} // namespace memtrace::report
