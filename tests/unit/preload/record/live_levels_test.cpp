// Purpose: the levels of which each thread keeps a part: exact if summed, and off by little if read quickly.
#include "preload/record/live_levels.h"

#include <errno.h>

#include <array>
#include <barrier>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "child.h"
#include "preload/record/thread_entry.h"
#include "preload/record/thread_list.h"
#include "preload/state/arming.h"
#include "preload/state/doorbell.h"

namespace memtrace::record {
namespace {

using tests::in_child;
using tests::Scratch;

constexpr std::int64_t kKiB = 1024;

struct Truth {
  std::int64_t live = 0, flowed = 0, tensors = 0;
};

// Makes `count` events of the calling thread, most of them small, and counts them in `truth`.
void make_events(Truth& truth, std::uint64_t seed, int count) {
  std::mt19937_64 random(seed);
  for (int i = 0; i < count; ++i) {
    const auto bytes = static_cast<std::int64_t>(random() % (i % 50 == 0 ? 300'000 : 9'000));
    const std::int64_t change = random() % 2 == 0 ? bytes : -bytes;
    level(0, change);
    tensor_level(change / 2);
    truth.live += change;
    truth.tensors += change / 2;
    if (change > 0) truth.flowed += change;
  }
}

void expect_sums(const Truth& truth) {
  EXPECT_EQ(exact_host_level(), truth.live);
  EXPECT_EQ(flows_since_fork(), truth.flowed);
  EXPECT_EQ(tensor_level(), truth.tensors);
}

void add(Truth& sum, const Truth& more) {
  sum.live += more.live;
  sum.flowed += more.flowed;
  sum.tensors += more.tensors;
}

TEST(LiveLevels, OfEightThreadsAreExactIfSummed) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    let_threads_keep_levels();
    constexpr std::size_t kThreads = 8;
    std::array<Truth, kThreads> truths{};
    std::barrier<> turn(kThreads + 1);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kThreads; ++i)
      threads.emplace_back([&, i] {
        this_thread();
        for (int round = 0; round < 20; ++round) {
          make_events(truths[i], i * 100 + static_cast<std::size_t>(round), 500);
          turn.arrive_and_wait();
          turn.arrive_and_wait();
        }
      });
    std::int64_t furthest = 0;
    for (int round = 0; round < 20; ++round) {
      turn.arrive_and_wait();
      Truth sum;
      for (const Truth& truth : truths) add(sum, truth);
      expect_sums(sum);
      furthest = std::max(furthest, std::abs(host_level() - sum.live));
      turn.arrive_and_wait();
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_GT(furthest, 0) << "nothing was kept";
    EXPECT_LT(furthest, static_cast<std::int64_t>(kThreads) * most_kept());
  });
}

// Their records are taken over by new threads.
TEST(LiveLevels, OfEndedThreadsAreExact) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    let_threads_keep_levels();
    Truth sum;
    for (std::uint64_t i = 0; i < 300; ++i)
      std::thread([&] {
        this_thread();
        make_events(sum, i, 20);
      }).join();
    EXPECT_LT(threads_made(), 300u) << "no record was taken over";
    expect_sums(sum);
  });
}

TEST(LiveLevels, AreExactInAForkedChild) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    let_threads_keep_levels();
    Truth sum;
    std::thread([&] {
      this_thread();
      make_events(sum, 1, 100);
    }).join();
    this_thread();
    make_events(sum, 2, 100);
    levels_forked();
    expect_sums(sum);
    EXPECT_EQ(host_level(), sum.live);
    level(0, 100);
    EXPECT_EQ(host_level(), sum.live + 100) << "it records no event in a ring yet";
  });
}

TEST(LiveLevels, ALargeBlockCountsAtOnce) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    let_threads_keep_levels();
    this_thread();
    level(0, 1000);
    EXPECT_EQ(host_level(), 0);
    level(0, 64 * kKiB);
    EXPECT_EQ(host_level(), 64 * kKiB + 1000);
    level(0, -1000);
    level(0, -64 * kKiB);
    EXPECT_EQ(host_level(), 0);
  });
}

TEST(LiveLevels, UntilThreadsKeepThemEachEventCounts) {
  in_child([] {
    tests::become_cold();
    this_thread();
    level(0, 10);
    EXPECT_EQ(host_level(), 10);
    EXPECT_EQ(exact_host_level(), 10);
  });
}

TEST(LiveLevels, ManyThreadsKeepLessEach) {
  in_child([] {
    const auto kept = [](std::uint32_t threads) { return share_among(threads), most_kept(); };
    EXPECT_EQ(kept(1), 64 * kKiB);
    EXPECT_EQ(kept(16), 64 * kKiB);
    EXPECT_EQ(kept(64), 16 * kKiB);
    EXPECT_EQ(kept(256), 4 * kKiB);
    EXPECT_EQ(kept(30'000), 4 * kKiB);
  });
}

TEST(LiveLevels, AWatchedLevelAsksForALookAndForNoPass) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    watch_level(level_of(0) + 100 * kKiB);
    const std::uint32_t rung = bell, wanted = passes_wanted;
    level(0, 90 * kKiB);
    EXPECT_EQ(bell, rung);
    level(0, 20 * kKiB);
    EXPECT_EQ(bell, rung + 1);
    level(0, 200 * kKiB);
    EXPECT_EQ(bell, rung + 1) << "once";
    EXPECT_EQ(passes_wanted, wanted);
    wake_drain();
    EXPECT_EQ(bell, rung + 2);
    EXPECT_EQ(passes_wanted, wanted + 1);
  });
}

TEST(LiveLevels, AnArmedProcessChangesLevelsAlone) {
  in_child([] {
    tests::become_cold();
    errno = 7;
    EXPECT_FALSE(change_armed_levels(4096, true)) << "not armed";
    settings.armed = true;
    local.busy = 1;
    EXPECT_FALSE(change_armed_levels(4096, true)) << "inside the recorder";
    local.busy = 0;
    EXPECT_EQ(host_level(), 0);
    EXPECT_TRUE(change_armed_levels(4096, true));
    EXPECT_TRUE(change_armed_levels(100, false));
    EXPECT_EQ(host_level(), 4196);
    EXPECT_EQ(tensor_level(), 4096);
    EXPECT_EQ(armed_watch.look_above, 4196) << "the highest level so far";
    EXPECT_TRUE(change_armed_levels(-4096, true));
    EXPECT_EQ(host_level(), 100);
    EXPECT_EQ(tensor_level(), 0);
    EXPECT_EQ(armed_watch.look_above, 4196);
    format::ArmedFile file{};
    armed_watch.file = &file;
    EXPECT_TRUE(change_armed_levels(50, false));
    EXPECT_EQ(file.live, 150u);
    EXPECT_EQ(file.highest, 4196u);
    armed_watch.looked_at = 0; // the process looks at its file once in 4 ms at most
    EXPECT_TRUE(change_armed_levels(5000, false));
    EXPECT_EQ(file.live, 5150u);
    EXPECT_EQ(file.highest, 5150u);
    EXPECT_EQ(local.busy, 0);
    EXPECT_EQ(errno, 7);
    armed_watch.file = nullptr;
  });
}

TEST(LiveLevels, EachEventOfAnArmedProcessLooksForAGrowth) {
  in_child([] {
    tests::become_cold();
    settings.armed = true;
    settings.arm_growth = 1 << 20;
    EXPECT_TRUE(change_armed_levels(4096, false));
    EXPECT_EQ(armed_watch.look_above, INT64_MIN);
  });
}

} // namespace
} // namespace memtrace::record
