// Purpose: the draw against the exponential law, the table of drawn blocks against a set of the standard
// library's.
#include "preload/record/block_sampler.h"
#include <gtest/gtest.h>
#include <atomic>
#include <cmath>
#include <random>
#include <set>
#include <thread>
#include <vector>
#include "child.h"
#include "preload/record/sampled_address_filter.h"
#include "preload/state/loss_counters.h"
#include "preload/state/settings.h"
#include "tests/unit/seed.h"

namespace memtrace::record {
namespace {

using tests::in_child;

constexpr std::uint64_t kSeed = 0x123456789ABCDEF;

// The generator, written down once more: what is uniform in (0, 1) and was taken for an interval.
long double uniform_after(std::uint64_t state) {
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return static_cast<long double>(state * 0x2545F4914F6CDD1Du) / 0x1p64L;
}

TEST(Interval, IsTheLogarithmRoundedUp) {
  for (const std::uint64_t mean :
       {std::uint64_t{2}, std::uint64_t{1000}, std::uint64_t{512 * 1024}, kMaxMean}) {
    std::uint64_t random = kSeed;
    for (int i = 0; i < 100'000; ++i) {
      const long double exact = -std::log(uniform_after(random)) * static_cast<long double>(mean);
      const auto got = static_cast<long double>(next_interval(random, mean));
      const long double error = static_cast<long double>(mean) * 0x1p-31L;
      ASSERT_GE(got, exact - error) << "mean " << mean;
      ASSERT_LE(got, exact + error + 1) << "mean " << mean;
    }
  }
}

TEST(Interval, IsExponential) {
  constexpr std::uint64_t kMean = 512 * 1024;
  constexpr int kDraws = 400'000, kBins = 100;
  std::uint64_t random = kSeed;
  std::vector<int> bins(kBins);
  double sum = 0;
  for (int i = 0; i < kDraws; ++i) {
    const auto interval = static_cast<double>(next_interval(random, kMean));
    sum += interval;
    // Each bin is equally likely under the law.
    ++bins[static_cast<std::size_t>(kBins * -std::expm1(-(interval - 0.5) / static_cast<double>(kMean)))];
  }
  const double expected = static_cast<double>(kDraws) / kBins;
  double square = 0;
  for (const int count : bins) square += (count - expected) * (count - expected) / expected;
  EXPECT_LT(square, 159) << "chi square of 99 degrees of freedom: 159 is passed once in 8,000";
  EXPECT_GT(square, 56) << "too even to be random";
  EXPECT_NEAR(sum / kDraws, static_cast<double>(kMean), 4 * static_cast<double>(kMean) / std::sqrt(kDraws));
}

TEST(Interval, OfMeanZeroIsNever) {
  std::uint64_t random = kSeed;
  EXPECT_GT(next_interval(random, 0), std::int64_t{1} << 60);
}

std::size_t counted_bytes() {
  std::size_t set = 0;
  for (const std::uint8_t byte : tracked_filter) set += byte != 0;
  return set;
}

bool maybe(std::uint64_t address) {
  return maybe_tracked(reinterpret_cast<const void*>(address)); // NOLINT(performance-no-int-to-ptr)
}

TEST(Sampled, AgreesWithASet) {
  in_child([] {
    std::mt19937_64 random(tests::seed(1));
    std::set<std::uint64_t> model;
    // Few addresses, so that many are put, taken and asked for again, and runs of the table are long.
    const auto some = [&] { return 0x7F0000000000 + (random() % 60'000) * 48; };
    for (int i = 0; i < 600'000; ++i) {
      const std::uint64_t address = some();
      if (random() % 2 == 0) {
        ASSERT_TRUE(sampled_put(address));
        model.insert(address);
      } else {
        ASSERT_EQ(sampled_take(address), model.erase(address) != 0);
      }
      if (i % 100'000 != 0) continue;
      for (const std::uint64_t there : model) ASSERT_TRUE(sampled_holds(there) && maybe(there));
    }
    ASSERT_GT(model.size(), 20'000u);
    for (const std::uint64_t address : model) ASSERT_TRUE(sampled_take(address));
    EXPECT_EQ(counted_bytes(), 0u) << "but for what is pinned, of which there is none here";
  });
}

TEST(Sampled, FullIsLostByReason) {
  in_child([] {
    for (std::uint64_t i = 1; i <= kMaxSampled; ++i) ASSERT_TRUE(sampled_put(i * 4096));
    EXPECT_EQ(lost_so_far(format::Loss::memory), 0u);
    EXPECT_FALSE(sampled_put(8));
    EXPECT_EQ(lost_so_far(format::Loss::memory), 1u);
    EXPECT_FALSE(sampled_take(8)) << "nor is its free seen";
    EXPECT_TRUE(sampled_take(4096));
    EXPECT_TRUE(sampled_put(8)) << "there is room again";
  });
}

TEST(Sampled, BytesOfTheFilterSaturate) {
  in_child([] {
    constexpr std::uint64_t kSameByte = std::uint64_t{kFilterBytes} << kFilterShift;
    for (std::uint64_t i = 1; i <= 300; ++i) ASSERT_TRUE(sampled_put(i * kSameByte + 16));
    for (std::uint64_t i = 1; i <= 299; ++i) ASSERT_TRUE(sampled_take(i * kSameByte + 16));
    EXPECT_TRUE(maybe(300 * kSameByte + 16));
    EXPECT_TRUE(sampled_take(300 * kSameByte + 16));
  });
}

TEST(Sampled, AForkedChildKnowsNothingOfItsParents) {
  in_child([] {
    filter_pin(0x77000);
    for (std::uint64_t i = 1; i <= 100; ++i) ASSERT_TRUE(sampled_put(i << 20));
    sampled_forked();
    EXPECT_FALSE(sampled_holds(5 << 20));
    EXPECT_FALSE(sampled_take(5 << 20));
    EXPECT_EQ(counted_bytes(), 1u);
    EXPECT_TRUE(maybe(0x77000)) << "pinned";
    EXPECT_TRUE(sampled_put(5 << 20));
    EXPECT_FALSE(sampled_take(6 << 20));
    EXPECT_TRUE(sampled_take(5 << 20));
  });
}

// Frees of other blocks go past the table while it changes, without its lock: they find nothing, and who looks
// for what is there finds it.
TEST(Sampled, AmongThreads) {
  in_child([] {
    std::atomic<bool> stop = false;
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (std::uint64_t t = 1; t <= 3; ++t)
      threads.emplace_back([&, t] {
        std::mt19937_64 random(t);
        std::set<std::uint64_t> mine;
        for (int i = 0; i < 60'000; ++i) {
          const std::uint64_t address = t << 40 | (random() % 20'000) << 6;
          if (mine.insert(address).second) {
            wrong += !sampled_put(address) || !maybe(address);
          } else {
            mine.erase(address);
            wrong += !sampled_take(address);
          }
        }
        for (const std::uint64_t address : mine) wrong += !sampled_take(address);
      });
    threads.emplace_back([&] {
      std::mt19937_64 random(tests::seed(9));
      while (!stop) wrong += sampled_take(std::uint64_t{9} << 40 | (random() % 20'000) << 6);
    });
    for (std::size_t t = 0; t + 1 < threads.size(); ++t) threads[t].join();
    stop = true;
    threads.back().join();
    // On a machine with more to do a thread may be away for longer than the lock is waited for.
    const std::uint64_t late = lost_so_far(format::Loss::busy);
    EXPECT_LE(wrong, static_cast<int>(late));
    if (late == 0) {
      EXPECT_EQ(counted_bytes(), 0u);
    }
  });
}

} // namespace
} // namespace memtrace::record
