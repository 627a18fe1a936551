// Purpose: stamps of several threads: with a clock that orders threads, and with one that does not.
#include "preload/os/timestamp.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "child.h"

namespace memtrace::record {
namespace {

// Runs `test` in a child, whose clock was read as at the start of a process.
void with_ordering_clock(void (*test)()) {
  tests::in_child([=] {
    os::begin_clock();
    if (os::clock_orders_threads()) test();
  });
}

// What a thread did before it drew a stamp is seen by the thread that draws a later one: a pass that draws its
// cut finds the birth of each block whose death is stamped before the cut.
TEST(Stamps, OrderWhatWasDoneBefore) {
  ASSERT_FALSE(os::clock_orders_threads()); // nothing else orders the threads here
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

std::vector<format::Stamp> draw_in_four_threads() {
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
    EXPECT_EQ(std::adjacent_find(mine.begin(), mine.end()), mine.end());
    all.insert(all.end(), mine.begin(), mine.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_GT(draw_stamp(), all.back());
  return all;
}

void draw_unique_stamps() {
  const std::vector<format::Stamp> all = draw_in_four_threads();
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

TEST(Stamps, UniqueAndIncreasingWithoutAnOrder) {
  draw_unique_stamps();
}

TEST(Stamps, IncreasingWithAnOrder) {
  with_ordering_clock([] { draw_in_four_threads(); });
}

// The clock stands still, as far as a stamp can see: each comes from the one before.
TEST(Stamps, UniqueWhenTheClockIsBehind) {
  tests::in_child([] {
    last_stamp = os::monotonic_ns() + 60'000'000'000;
    draw_unique_stamps();
  });
}

// A thread that sees the clock stand still draws from all threads, for ever.
TEST(Stamps, AClockThatStandsStillHasNoOrder) {
  with_ordering_clock([] {
    const format::Stamp ahead = own_stamp = os::monotonic_ns() + 60'000'000'000;
    EXPECT_EQ(draw_stamp(), ahead + 1);
    EXPECT_FALSE(os::clock_orders_threads());
    std::thread([&] { EXPECT_EQ(draw_stamp(), ahead + 2); }).join();
  });
}

// Two threads draw in turn. Each draws after it has seen what the other stored after its draw.
void draw_in_turns() {
  constexpr std::uint64_t kTurns = 200'000;
  std::uint64_t turn = 0;
  format::Stamp last = 0; // plain: the turn orders it
  std::uint64_t wrong = 0;
  const auto take_turns = [&](std::uint64_t mine) {
    for (std::uint64_t i = mine; i < kTurns; i += 2) {
      for (int tries = 0; __atomic_load_n(&turn, __ATOMIC_ACQUIRE) != i;)
        if (++tries % 1024 == 0) std::this_thread::yield();
      const format::Stamp stamp = draw_stamp();
      if (stamp <= last) ++wrong;
      last = stamp;
      __atomic_store_n(&turn, i + 1, __ATOMIC_RELEASE);
    }
  };
  std::thread other(take_turns, 1);
  take_turns(0);
  other.join();
  EXPECT_EQ(wrong, 0u);
}

TEST(Stamps, InTheOrderInWhichThreadsSeeEachOther) {
  with_ordering_clock(draw_in_turns);
}
TEST(Stamps, InThisOrderToo) {
  draw_in_turns();
}

// One thread counts. A second one draws stamps after it has seen a count. A third one draws cuts: after a cut,
// it sees each count that a stamp before the cut depends on.
TEST(Stamps, AfterACutAllIsVisible) {
  with_ordering_clock([] {
    constexpr std::size_t kEach = 300'000;
    std::uint64_t count = 0;
    bool stop = false;
    using Seen = std::pair<format::Stamp, std::uint64_t>;
    std::vector<Seen> stamps(kEach), cuts(kEach);
    std::thread counts([&] {
      while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) __atomic_store_n(&count, count + 1, __ATOMIC_RELAXED);
    });
    std::thread draws([&] {
      for (auto& [stamp, seen] : stamps) {
        seen = __atomic_load_n(&count, __ATOMIC_RELAXED);
        stamp = draw_stamp();
      }
    });
    for (auto& [cut, seen] : cuts) {
      cut = draw_cut();
      seen = __atomic_load_n(&count, __ATOMIC_RELAXED);
    }
    draws.join();
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    counts.join();
    std::size_t before = 0, wrong = 0;
    for (const auto& [cut, seen] : cuts) {
      while (before < kEach && stamps[before].first < cut) ++before;
      if (before != 0 && seen < stamps[before - 1].second) ++wrong;
    }
    EXPECT_EQ(wrong, 0u);
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
