// Purpose: tests that a leak is growth, and that loading a model and the peaks of steps are not.
#include "preload/kernel/growing_floor.h"

#include <gtest/gtest.h>

namespace memtrace::record {
namespace {

constexpr std::int64_t kMega = 1 << 20;
constexpr std::uint64_t kMinute = GrowingFloor::kMinuteNs;

// Returns the minute in which 100 MiB of growth are seen, or -1. `level(minute, tenth)`: the level at each
// tenth.
template <class Level>
int minute_of_growth(int minutes, Level level) {
  GrowingFloor floor;
  for (int minute = 0; minute < minutes; ++minute) {
    for (int tenth = 0; tenth < 10; ++tenth) {
      floor.see(level(minute, tenth));
      const std::uint64_t now = 1 + static_cast<std::uint64_t>(minute * 10 + tenth) * kMinute / 10;
      if (floor.grew(now, 100 * kMega)) return minute;
    }
  }
  return -1;
}

TEST(GrowingFloor, ALeakIsGrowth) {
  // 10 MiB a minute from the start: the floor of the first judged minute is the reference.
  const int at = minute_of_growth(60, [](int minute, int) { return (1000 + 10 * minute) * kMega; });
  EXPECT_GE(at, 20);
  EXPECT_LE(at, 22);
}

TEST(GrowingFloor, LoadingAndPeaksAreNot) {
  const auto level = [](int minute, int tenth) {
    const int loaded = minute < 8 ? minute * 1000 : 8000;
    return (loaded + (tenth == 5 ? 4000 : 0)) * kMega;
  };
  EXPECT_EQ(minute_of_growth(200, level), -1);
}

TEST(GrowingFloor, MinutesWithoutEventsAreNotJudged) {
  GrowingFloor floor;
  for (std::uint64_t minute = 1; minute < 100; ++minute) EXPECT_FALSE(floor.grew(minute * kMinute, 1));
}

} // namespace
} // namespace memtrace::record
