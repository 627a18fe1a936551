// Purpose: tests when PSS is sampled: often while the family changes, seldom while it does not.
#include "preload/samples/share_schedule.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "tests/unit/sizes.h"

namespace memtrace::record {
namespace {

using tests::kMiB;

constexpr std::uint64_t kMilli = 1'000'000;
constexpr std::uint64_t kBegan = 77'000 * kMilli;

// Returns the ages in ms at which samples are due in `seconds`. `mib`: RSS at an age.
std::vector<std::uint64_t> ages_of_samples(std::uint64_t seconds, std::uint64_t cost,
                                           const std::function<std::uint64_t(std::uint64_t)>& mib) {
  ShareSchedule schedule;
  std::vector<std::uint64_t> out;
  for (std::uint64_t age = 0; age <= seconds * 1000; age += 100) {
    const auto resident = [&] { return mib(age) * kMiB; };
    const std::uint64_t now = kBegan + age * kMilli;
    if (!schedule.is_due(now, resident)) continue;
    out.push_back(age);
    schedule.took(now, cost, resident());
  }
  return out;
}

std::uint64_t steady(std::uint64_t) {
  return 500;
}

TEST(ShareSchedule, AProcessThatDoesNotChangeIsSampledLessAndLess) {
  const std::vector<std::uint64_t> ages = {500, 1500, 4500, 8500, 12500, 16500, 20500};
  EXPECT_EQ(ages_of_samples(21, 4 * kMilli, &steady), ages);
}

TEST(ShareSchedule, GrowthIsNewsInTheFirstTenSeconds) {
  // 100 MiB a second; after ten seconds, a sample of 4 ms may be taken each 4 s.
  const std::vector<std::uint64_t> ages =
      ages_of_samples(20, 4 * kMilli, [](std::uint64_t age) { return 100 + age / 10; });
  ASSERT_GE(ages.size(), 12U);
  for (std::size_t i = 1; i < ages.size(); ++i) {
    EXPECT_GE(ages[i] - ages[i - 1], 500U);
    if (ages[i] < 8000) {
      EXPECT_LE(ages[i] - ages[i - 1], 1000U) << ages[i];
    } else if (ages[i] >= 10'000) {
      EXPECT_GE(ages[i] - ages[i - 1], 4000U) << ages[i];
    }
  }
}

TEST(ShareSchedule, AFallIsNewsToo) {
  const std::vector<std::uint64_t> ages = {500, 1500, 2000, 6000};
  EXPECT_EQ(ages_of_samples(7, 4 * kMilli, [](std::uint64_t age) { return age < 1600 ? 500U : 400U; }), ages);
}

TEST(ShareSchedule, SamplesOfALargeProcessAreFewer) {
  // 50 ms for each: 1 % of the time is one in 4.5 s, 0.1 % is one in 50 s.
  const std::vector<std::uint64_t> ages = {500, 5000, 9500, 59500};
  EXPECT_EQ(ages_of_samples(60, 50 * kMilli, [](std::uint64_t age) { return 500 + age; }), ages);
}

TEST(ShareSchedule, TheEndTakesASampleOnlyForNews) {
  ShareSchedule schedule;
  EXPECT_TRUE(schedule.has_news(kBegan, 500 * kMiB)); // no sample so far
  schedule.took(kBegan, 4 * kMilli, 500 * kMiB);
  EXPECT_FALSE(schedule.is_dear());
  schedule.took(kBegan + 1000 * kMilli, 50 * kMilli, 500 * kMiB);
  EXPECT_TRUE(schedule.is_dear());
  EXPECT_FALSE(schedule.has_news(kBegan + 2999 * kMilli, 501 * kMiB));
  EXPECT_TRUE(schedule.has_news(kBegan + 3000 * kMilli, 501 * kMiB));
  EXPECT_TRUE(schedule.has_news(kBegan + 2000 * kMilli, 540 * kMiB));
}

} // namespace
} // namespace memtrace::record
