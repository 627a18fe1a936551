// Purpose: what counts as near a limit.
#include "preload/kernel/limit_distance.h"

#include <gtest/gtest.h>

#include "tests/unit/sizes.h"

namespace memtrace::record {
namespace {

using format::kNotSaid;
using tests::kGiB;
using tests::kMiB;

TEST(Near, WithoutALimitNothingIs) {
  Closeness closeness;
  closeness.to_limit(100 * kGiB, kNotSaid);
  closeness.to_machine(kNotSaid, 5);
  closeness.to_machine(64 * kGiB, kNotSaid);
  closeness.under_pressure(kNearPressure - 1);
  EXPECT_FALSE(closeness.near);
  EXPECT_EQ(closeness.left, kNotSaid);
}

TEST(Near, AnEighthOfALimit) {
  Closeness closeness;
  closeness.to_limit(700 * kMiB, 800 * kMiB);
  EXPECT_FALSE(closeness.near);
  EXPECT_EQ(closeness.left, 100 * kMiB);
  closeness.to_limit(701 * kMiB, 800 * kMiB);
  EXPECT_TRUE(closeness.near);
  EXPECT_EQ(closeness.left, 99 * kMiB);
}

TEST(Near, TheClosestOfSeveral) {
  Closeness closeness;
  closeness.to_limit(100 * kMiB, 800 * kMiB);
  closeness.to_limit(900 * kMiB, 800 * kMiB); // lowered below what is held
  closeness.to_limit(0, 800 * kMiB);
  EXPECT_TRUE(closeness.near);
  EXPECT_EQ(closeness.left, 0u);
}

TEST(Near, OfALargeLimitNoMoreThanItsBytes) {
  Closeness closeness;
  closeness.to_limit(1024 * kGiB - 17 * kGiB, 1024 * kGiB);
  EXPECT_FALSE(closeness.near);
  closeness.to_limit(1024 * kGiB - 15 * kGiB, 1024 * kGiB);
  EXPECT_TRUE(closeness.near);
}

TEST(Near, TheMachineAndItsPressure) {
  Closeness closeness;
  closeness.to_machine(64 * kGiB, 4 * kGiB);
  EXPECT_FALSE(closeness.near);
  closeness.to_machine(64 * kGiB, 4 * kGiB - kMiB);
  EXPECT_TRUE(closeness.near);
  Closeness waiting;
  waiting.under_pressure(kNearPressure);
  EXPECT_TRUE(waiting.near);
  EXPECT_EQ(waiting.left, kNotSaid);
  Closeness others; // wait, at limits of their own
  others.to_machine(64 * kGiB, 30 * kGiB);
  others.machine_under_pressure(kNearPressure);
  EXPECT_FALSE(others.near);
  others.to_machine(64 * kGiB, 15 * kGiB);
  others.machine_under_pressure(kNearPressure);
  EXPECT_TRUE(others.near);
}

} // namespace
} // namespace memtrace::record
