// Purpose: how far RSS has gone beyond the last sample when a limit is reached, and how many looks that takes.
#include "preload/kernel/growth.h"

#include <gtest/gtest.h>

#include "tests/unit/sizes.h"

namespace memtrace::record {
namespace {

using tests::kGiB;
using tests::kMiB;
using tests::kSecond;

struct Told {
  std::uint64_t missing; // bytes between the last sample and the limit
  unsigned looks;
  unsigned samples;
};

// A process that holds `start` until `begins` ns, then touches `per_second` bytes until `limit`. Each look
// comes `late`.
Told grow(std::uint64_t start, std::uint64_t limit, std::uint64_t per_second, std::uint64_t late,
          std::uint64_t begins = kSecond) {
  const auto resident = [&](std::uint64_t now) {
    return now < begins ? start
                        : start + static_cast<std::uint64_t>(static_cast<double>(now - begins) / 1e9 *
                                                             static_cast<double>(per_second));
  };
  Growth growth;
  std::uint64_t last = start;
  growth.set_limit(1, limit - start, limit, start);
  Told told{};
  for (std::uint64_t now = 1;;) {
    now = (growth.due() > now ? growth.due() : now) + late;
    if (resident(now) >= limit) break;
    growth.look(now, resident(now));
    ++told.looks;
    if (!growth.wants_sample()) continue;
    growth.sampled();
    last = resident(now);
    ++told.samples;
  }
  told.missing = limit - last;
  return told;
}

TEST(Growth, TheLastSampleIsCloseToTheLimit) {
  for (const std::uint64_t limit : {kGiB * 6 / 5, 8 * kGiB, 64 * kGiB}) {
    for (const std::uint64_t start : {20 * kMiB, limit / 2, limit - limit / 16}) {
      for (const std::uint64_t pace : {kGiB / 10, kGiB, 2 * kGiB, 4 * kGiB}) {
        const std::uint64_t most = limit / 100 > 16 * kMiB ? limit / 100 : 16 * kMiB;
        const Told told = grow(start, limit, pace, 500'000);
        EXPECT_LT(told.missing, most) << limit / kMiB << " MiB, from " << start / kMiB << ", " << pace / kMiB;
        EXPECT_LT(told.samples, 200u);
      }
    }
  }
}

// One thread fills huge pages at 17 bytes per ns, and may begin right after a look.
TEST(Growth, AsFastAsAThreadCanTouch) {
  for (const std::uint64_t limit : {kGiB * 6 / 5, 2 * kGiB}) {
    const Told told = grow(4 * kMiB, limit, 17'000'000'000, 100'000, 1);
    EXPECT_LT(told.missing, limit / 50) << limit / kMiB << " MiB";
  }
}

// A look takes 15 us at most.
TEST(Growth, LooksWhileNothingGrows) {
  const auto looks_each_second = [](std::uint64_t left, std::uint64_t limit) {
    Growth growth;
    growth.set_limit(1, left, limit, limit - left);
    unsigned looks = 0;
    for (std::uint64_t now = growth.due(); now < 10 * kSecond; now = growth.due(), ++looks) {
      growth.look(now, limit - left);
      EXPECT_FALSE(growth.wants_sample());
    }
    return looks / 10;
  };
  EXPECT_LE(looks_each_second(8 * kGiB, 16 * kGiB), 4u);
  EXPECT_LE(looks_each_second(kGiB, 2 * kGiB), 32u);
  EXPECT_LE(looks_each_second(kMiB, 2 * kGiB), 200u);
  EXPECT_LE(looks_each_second(format::kNotSaid, format::kNotSaid), 4u);
}

// Its own RSS does not move, and the group's limit comes close all the same.
TEST(Growth, OfOthersInTheGroup) {
  Growth growth;
  growth.set_limit(kSecond, 4 * kGiB, 8 * kGiB, kGiB);
  growth.set_limit(2 * kSecond, 2 * kGiB, 8 * kGiB, kGiB); // 2 GiB in a second
  growth.look(2 * kSecond + kSecond * 6 / 10, kGiB);
  EXPECT_TRUE(growth.half_is_gone());
  EXPECT_LT(growth.due(), 2 * kSecond + kSecond * 7 / 10);
}

TEST(Growth, FarFromALimitASampleWhereRssIsOneSixteenthHigher) {
  Growth growth;
  growth.set_limit(1, 100 * kGiB, 200 * kGiB, 16 * kGiB);
  growth.look(kSecond, 16 * kGiB + kGiB / 2);
  EXPECT_FALSE(growth.wants_sample());
  growth.look(2 * kSecond, 17 * kGiB + kGiB / 4);
  EXPECT_TRUE(growth.wants_sample());
  growth.sampled();
  EXPECT_FALSE(growth.wants_sample());
}

} // namespace
} // namespace memtrace::record
