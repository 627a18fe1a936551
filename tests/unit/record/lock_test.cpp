// Room: tests.
// Job: the lock that gives up, and the order of stamps.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "child.h"
#include "record/os.h"
#include "record/spin_lock.h"
#include "record/stamp.h"

namespace memtrace::record {
namespace {

TEST(SpinLock, GivesUpInTime) {
  SpinLock lock;
  ASSERT_TRUE(lock.lock());
  const auto waited = [&lock] {
    const std::uint64_t before = os::monotonic_ns();
    EXPECT_FALSE(lock.lock());
    return os::monotonic_ns() - before;
  };
  EXPECT_GE(waited(), 1'000'000'000u);
  std::uint64_t least = waited();
  for (int i = 0; i < 20; ++i) least = std::min(least, waited());
  EXPECT_LT(least, 500'000'000u) << "one that was waited for in vain is not waited for so long again";
  lock.unlock();
  EXPECT_TRUE(lock.lock());
  EXPECT_GE(waited(), 1'000'000'000u) << "it came back: patience, too";
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  EXPECT_FALSE(lock.try_lock());
  lock.reset();
  EXPECT_TRUE(lock.try_lock());
}

TEST(SpinLock, LockedLeavesWhatItDidNotGet) {
  SpinLock lock;
  {
    const Locked held(lock);
    EXPECT_TRUE(held);
    const Locked second(lock);
    EXPECT_FALSE(second);
  }
  EXPECT_TRUE(lock.try_lock());
}

TEST(SpinLock, OneAtATime) {
  SpinLock lock;
  std::uint64_t sum = 0; // plain on purpose
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        while (!lock.lock()) {
        }
        sum = sum + 1;
        lock.unlock();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, 80'000u);
}

void draw_in_four_threads() {
  constexpr std::size_t kEach = 50'000;
  std::vector<std::vector<format::Stamp>> drawn(4, std::vector<format::Stamp>(kEach));
  std::vector<std::thread> threads;
  for (auto& mine : drawn)
    threads.emplace_back([&mine] {
      for (format::Stamp& stamp : mine) stamp = draw_stamp();
    });
  for (std::thread& thread : threads) thread.join();
  std::vector<format::Stamp> all;
  for (const auto& mine : drawn) {
    EXPECT_TRUE(std::is_sorted(mine.begin(), mine.end()));
    all.insert(all.end(), mine.begin(), mine.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
  EXPECT_GT(draw_stamp(), all.back());
}

TEST(Stamps, UniqueAndIncreasingOverThreads) {
  draw_in_four_threads();
}

// The clock stands still, as far as a stamp can see: each comes from the one before.
TEST(Stamps, UniqueWhenTheClockIsBehind) {
  tests::in_child([] {
    last_stamp = os::monotonic_ns() + 60'000'000'000;
    draw_in_four_threads();
  });
}

TEST(Stamps, AreTheTime) {
  const std::uint64_t before = os::monotonic_ns();
  const format::Stamp stamp = draw_stamp();
  EXPECT_GE(stamp, before);
  EXPECT_LE(stamp, os::monotonic_ns() + 1'000'000);
}

} // namespace
} // namespace memtrace::record
