// Purpose: what the kernel's counters leave out is found at the highest RSS, for a bounded part of the time.
#include "preload/kernel/rss_counters.h"

#include <gtest/gtest.h>

#include "tests/unit/sizes.h"

namespace memtrace::record {
namespace {

using tests::kMiB;
constexpr std::uint64_t kMs = 1'000'000;

RssCounters on(std::uint64_t cpus) {
  RssCounters out;
  out.set_cpus(cpus);
  return out;
}

// Of a process that stands still.
RssCounters::RssReading look(std::uint64_t resident, std::uint64_t anonymous, Statm counted,
                             std::uint64_t cost = kMs) {
  return {counted, resident, anonymous, counted, cost};
}

TEST(RssCounters, FewCpusDoNotMatter) {
  EXPECT_FALSE(on(2).is_due(1, 64 * kMiB));
  EXPECT_FALSE(on(8).is_due(1, 64 * kMiB));
  EXPECT_TRUE(on(64).is_due(1, 64 * kMiB)) << "96 MiB may be left out";
  EXPECT_FALSE(on(64).is_due(1, 10'000 * kMiB)) << "less than a hundredth";
}

TEST(RssCounters, WhatIsLeftOutIsAdded) {
  RssCounters counters = on(64);
  counters.looked(1, look(100 * kMiB, 80 * kMiB, {90 * kMiB, 15 * kMiB}));
  EXPECT_EQ(counters.anonymous(), static_cast<std::int64_t>(5 * kMiB));
  EXPECT_EQ(counters.other(), static_cast<std::int64_t>(5 * kMiB));
  counters.looked(2, look(100 * kMiB, 80 * kMiB, {102 * kMiB, 20 * kMiB}));
  EXPECT_EQ(counters.anonymous(), -static_cast<std::int64_t>(2 * kMiB));
  EXPECT_EQ(counters.other(), 0);
}

TEST(RssCounters, OfAProcessThatGrowsTheMiddle) {
  RssCounters counters = on(64);
  counters.looked(1, {{90 * kMiB, 0}, 100 * kMiB, 100 * kMiB, {94 * kMiB, 0}, kMs});
  EXPECT_EQ(counters.anonymous(), static_cast<std::int64_t>(8 * kMiB));
}

TEST(RssCounters, TwoThatAgreeAreEnough) {
  RssCounters counters = on(64);
  const auto exact = look(100 * kMiB, 80 * kMiB, {100 * kMiB, 20 * kMiB});
  counters.looked(1, exact);
  EXPECT_TRUE(counters.is_due(10'000 * kMs, 200 * kMiB));
  counters.looked(2, exact);
  EXPECT_FALSE(counters.is_due(10'000 * kMs, 200 * kMiB));
  counters.forked();
  EXPECT_FALSE(counters.is_due(10'000 * kMs, 200 * kMiB)) << "the child's kernel is the same";
}

TEST(RssCounters, AForkedChildBeginsAnew) {
  RssCounters counters = on(64);
  counters.looked(1, look(100 * kMiB, 100 * kMiB, {90 * kMiB, 0}));
  counters.forked();
  EXPECT_EQ(counters.anonymous(), 0);
  EXPECT_TRUE(counters.is_due(2, 50 * kMiB));
}

// 10 ms for 1 GiB, on 256 CPUs.
TEST(RssCounters, CostIsBounded) {
  RssCounters counters = on(256);
  counters.looked(0, look(1024 * kMiB, 1024 * kMiB, {900 * kMiB, 0}, 10 * kMs));
  EXPECT_FALSE(counters.is_due(9'000 * kMs, 2048 * kMiB)) << "a thousandth of the time";
  EXPECT_TRUE(counters.is_due(10'000 * kMs, 2048 * kMiB));
  EXPECT_FALSE(counters.is_due(10'000 * kMs, 1024 * kMiB)) << "not higher";
  EXPECT_FALSE(counters.is_due(10'000 * kMs, 10'300 * kMiB)) << "more than 100 ms";
}

} // namespace
} // namespace memtrace::record
