// Purpose: the lock that gives up, and the order of stamps.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <thread>
#include <vector>

#include "child.h"
#include "preload/bounded/spin_lock.h"
#include "preload/os/clocks.h"
#include "preload/os/timestamp.h"
#include "preload/record/thread_entry.h"

namespace memtrace::record {
namespace {

// Returns the ns that this thread was ready to run but had no CPU, by the kernel.
std::uint64_t without_cpu() {
  std::ifstream file("/proc/thread-self/schedstat");
  std::uint64_t ran = 0, ready = 0;
  file >> ran >> ready;
  return ready;
}

TEST(SpinLock, GivesUpInTime) {
  SpinLock lock;
  ASSERT_TRUE(lock.lock());
  const auto waited = [&lock] {
    const std::uint64_t before = os::monotonic_ns();
    EXPECT_FALSE(lock.lock());
    return os::monotonic_ns() - before;
  };
  EXPECT_GE(waited(), 1'000'000'000u);
  const std::uint64_t before = without_cpu(), again = waited(), ready = without_cpu() - before;
  EXPECT_LT(again, 500'000'000u + ready)
      << "after a wait in vain the next is short, but for " << ready << " ns without a CPU";
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

// The second thread has it after it slept for it, which is another path than the one without a wait.
TEST(SpinLock, OneAtATimeAfterASleep) {
  constexpr std::uint32_t kWaitedFor = 2; // in the lock's first word: a thread sleeps
  SpinLock lock;
  const auto* const word = reinterpret_cast<const std::uint32_t*>(&lock);
  for (int i = 0; i < 20; ++i) {
    std::uint64_t sum = 0; // plain on purpose
    bool is_held = false;
    std::thread holder([&] {
      ASSERT_TRUE(lock.lock());
      __atomic_store_n(&is_held, true, __ATOMIC_RELAXED);
      while (__atomic_load_n(word, __ATOMIC_RELAXED) != kWaitedFor) std::this_thread::yield();
      sum = sum + 1;
      lock.unlock();
    });
    std::thread waiter([&] {
      while (!__atomic_load_n(&is_held, __ATOMIC_RELAXED)) std::this_thread::yield();
      while (!lock.lock()) {
      }
      sum = sum + 1;
      lock.unlock();
    });
    holder.join();
    waiter.join();
    EXPECT_EQ(sum, 2u);
  }
}

// What a thread did before it drew a stamp is seen by the thread that draws a later one: a pass that draws its
// cut finds the birth of each block whose death is stamped before the cut.
TEST(Stamps, OrderWhatWasDoneBefore) {
  for (int i = 0; i < 20; ++i) {
    std::uint64_t done = 0; // plain on purpose
    format::Stamp earlier = 0;
    std::thread first([&] {
      done = 1;
      __atomic_store_n(&earlier, draw_stamp(), __ATOMIC_RELAXED);
    });
    std::thread second([&] {
      while (__atomic_load_n(&earlier, __ATOMIC_RELAXED) == 0) std::this_thread::yield();
      EXPECT_GT(draw_stamp(), __atomic_load_n(&earlier, __ATOMIC_RELAXED));
      EXPECT_EQ(done, 1u);
    });
    first.join();
    second.join();
  }
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
