// Purpose: which time counts as a climb of memory.
#include "preload/kernel/climbing_time.h"

#include <gtest/gtest.h>

#include "tests/unit/sizes.h"

namespace memtrace::record {
namespace {

using tests::kMiB;
using tests::kSecond;

constexpr std::uint64_t kLook = kSecond / 100;

// Looks each 10 ms for `ns`. Before each look, `live` and RSS grow by these bytes.
void look(ClimbingTime& climb, std::uint64_t& now, std::uint64_t ns, std::uint64_t& live,
          std::uint64_t live_grows, std::uint64_t& resident, std::uint64_t resident_grows) {
  for (const std::uint64_t until = now + ns; now < until; now += kLook) {
    live += live_grows;
    resident += resident_grows;
    climb.look(now, live, resident);
  }
}

struct Program {
  ClimbingTime climb;
  std::uint64_t now = 5 * kSecond, live = 32 * kMiB, resident = 64 * kMiB;
  void run(std::uint64_t ns, std::uint64_t live_grows, std::uint64_t resident_grows) {
    look(climb, now, ns, live, live_grows, resident, resident_grows);
  }
};

TEST(ClimbingTime, AClimbOfLiveCountsAndASecondAfterIt) {
  Program program;
  program.run(2 * kSecond, kMiB, 0);
  EXPECT_NEAR(static_cast<double>(program.climb.time()), 2e9, 2e7);
  EXPECT_TRUE(program.climb.climbs(program.now));
  program.run(7 * kSecond, 0, 0);
  EXPECT_NEAR(static_cast<double>(program.climb.time()), 3e9, 4e7);
  EXPECT_FALSE(program.climb.climbs(program.now));
}

TEST(ClimbingTime, AClimbOfResidentPagesCounts) {
  Program program;
  program.run(2 * kSecond, 0, kMiB);
  program.run(7 * kSecond, 0, 0);
  EXPECT_NEAR(static_cast<double>(program.climb.time()), 3e9, 4e7);
}

TEST(ClimbingTime, StepsThatRepeatDoNotClimb) {
  Program program;
  program.run(kSecond, kMiB, kMiB);
  const std::uint64_t highest = program.live, before = program.climb.time();
  for (int step = 0; step < 200; ++step) {
    program.live = highest / 2;
    program.run(kSecond / 20, (highest / 2) / 5, 0);
  }
  EXPECT_LE(program.climb.time(), before + kSecond + kLook);
}

TEST(ClimbingTime, ALittleMoreThanTheHighestIsNoClimb) {
  Program program;
  program.run(kSecond, kMiB, kMiB);
  program.run(2 * kSecond, 0, 0);
  const std::uint64_t before = program.climb.time();
  program.live += program.live / 300;
  program.run(2 * kSecond, 0, 0);
  EXPECT_EQ(program.climb.time(), before);
  program.live += program.live / 200;
  program.run(2 * kSecond, 0, 0);
  EXPECT_NEAR(static_cast<double>(program.climb.time() - before), 1e9, 2e7);
}

TEST(ClimbingTime, ALeakClimbsForTenSecondsAtMost) {
  Program program;
  program.run(30 * kSecond, kMiB, kMiB);
  EXPECT_EQ(program.climb.time(), ClimbingTime::kMostNs);
}

TEST(ClimbingTime, ALateLookDoesNotCountTheTimeWithoutPeaks) {
  Program program;
  program.run(kSecond, kMiB, 0);
  program.now += 60 * kSecond;
  program.run(kLook, 0, 0);
  EXPECT_LE(program.climb.time(), 2 * kSecond);
}

} // namespace
} // namespace memtrace::record
