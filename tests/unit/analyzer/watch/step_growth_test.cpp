// Purpose: growth per step is found below the swing within a step.
#include "analyzer/watch/step_growth.h"
#include "tests/unit/seed.h"

#include <gtest/gtest.h>

#include <random>

namespace memtrace::watch {
namespace {

TEST(LiveGrowth, IsFoundBelowTheSwing) {
  std::mt19937 random(tests::seed(7));
  for (const double truth : {0.0, 100'000.0, -20'000.0}) {
    StepGrowth growth;
    for (std::int64_t step = 0; step < 5000; step += 1 + static_cast<std::int64_t>(random() % 5))
      growth.add(step,
                 static_cast<std::uint64_t>(2e9 + truth * static_cast<double>(step)) + random() % 20'000'000);
    ASSERT_TRUE(growth.bytes_per_step());
    EXPECT_NEAR(*growth.bytes_per_step(), truth, 2000.0);
  }
}

TEST(LiveGrowth, NeedsReadingsOfSeveralSteps) {
  StepGrowth growth;
  for (int i = 0; i < 100; ++i) growth.add(3, 1000 + static_cast<std::uint64_t>(i));
  EXPECT_FALSE(growth.bytes_per_step());
  for (std::int64_t step = 4; step < 18; ++step) growth.add(step, 1000);
  EXPECT_FALSE(growth.bytes_per_step());
  growth.add(18, 1000);
  ASSERT_TRUE(growth.bytes_per_step());
  EXPECT_EQ(*growth.bytes_per_step(), 0.0);
}

} // namespace
} // namespace memtrace::watch
