// Purpose: how many ledgers a climb has, and how soon a peak has one.
#include "preload/rss/peak_worth.h"

#include <gtest/gtest.h>

#include "tests/unit/sizes.h"

namespace memtrace::record {
namespace {

using tests::kMiB;
using tests::kSecond;

constexpr std::uint64_t kCost = 3'000'000; // of a ledger of a process that has imported PyTorch

struct Taken {
  unsigned ledgers;
  std::uint64_t highest;
};

// RSS rises from `start` to `end` within `ns`, and has a peak each millisecond.
Taken climb(std::uint64_t start, std::uint64_t end, std::uint64_t ns, std::uint64_t cost, bool close) {
  Taken out{0, start};
  for (std::uint64_t now = 0, last = 0; now <= ns; now += 1'000'000) {
    const std::uint64_t resident = start + (end - start) / (ns / 1'000'000) * (now / 1'000'000);
    if (resident <= out.highest + out.highest / peak_part(now - last, cost, close)) continue;
    out = {out.ledgers + 1, resident};
    last = now;
  }
  return out;
}

TEST(PeakWorth, AnImportHasFewLedgers) {
  const Taken taken = climb(32 * kMiB, 220 * kMiB, kSecond + kSecond / 2, kCost, false);
  EXPECT_LE(taken.ledgers, 12u);
  EXPECT_GE(taken.highest, 220 * kMiB / 4 * 3) << "a peak that is a quarter higher always has one";
}

TEST(PeakWorth, ASmallProcessHasALedgerOfEachPeak) {
  const Taken taken = climb(32 * kMiB, 220 * kMiB, kSecond + kSecond / 2, 100'000, false);
  EXPECT_GE(taken.highest, 220 * kMiB / 100 * 97);
}

TEST(PeakWorth, CloseToALimitEachPeakOfASixteenthHasOne) {
  const Taken taken = climb(1000 * kMiB, 2000 * kMiB, kSecond, kCost, true);
  EXPECT_GE(taken.ledgers, 9u);
  EXPECT_GE(taken.highest, 2000 * kMiB / 17 * 16);
}

// Steps of a second and a half, of which each has one peak: the highest one may come only once.
TEST(PeakWorth, APeakOfALongStepIsSeenIfItIsAHundredthHigher) {
  EXPECT_GE(peak_part(kSecond + kSecond / 2, 2 * kCost, false), 100u);
}

TEST(PeakWorth, TheLongerSinceTheLastLedgerTheSmallerARise) {
  EXPECT_EQ(peak_part(0, kCost, false), 4u);
  std::uint64_t before = 0;
  for (std::uint64_t since = 0; since < 2 * kSecond; since += 1'000'000) {
    const std::uint64_t part = peak_part(since, kCost, false);
    ASSERT_GE(part, before);
    before = part;
  }
  EXPECT_EQ(before, 192u);
  EXPECT_EQ(peak_part(~std::uint64_t{0}, 0, false), 192u) << "the first ledger";
}

TEST(PeakWorth, CloseToALimitTheTimeCountsMore) {
  EXPECT_EQ(peak_part(kSecond / 100, kCost, true), 16u);
  EXPECT_EQ(peak_part(kSecond / 10, kCost, true), 33u);
  EXPECT_LT(peak_part(kSecond / 10, kCost, false), 8u);
}

} // namespace
} // namespace memtrace::record
