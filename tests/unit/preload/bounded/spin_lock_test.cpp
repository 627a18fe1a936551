// Purpose: the lock that gives up.
#include <gtest/gtest.h>

#include <fstream>
#include <thread>
#include <vector>

#include "child.h"
#include "preload/bounded/spin_lock.h"
#include "preload/os/clocks.h"
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

} // namespace
} // namespace memtrace::record
