// Purpose: what ended threads leave: their slots serve new threads, and their flows are published once.
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "births.h"
#include "child.h"
#include "preload/blocks/recording.h"
#include "preload/blocks/small_blocks.h"
#include "preload/os/timestamp.h"
#include "preload/record/emit.h"
#include "preload/record/ended_thread.h"
#include "preload/record/live_levels.h"
#include "preload/record/thread_entry.h"
#include "preload/record/thread_list.h"
#include "preload/ring/ring.h"
#include "preload/ring/ring_file.h"
#include "preload/state/thread.h"
#include "preload/trace/trace_file.h"
#include "preload/trace/trace_windows.h"
#include "reading.h"

namespace memtrace::record {
namespace {

using format::RingRecord;
using tests::append_birth;
using tests::births_in;
using tests::in_child;
using tests::numbers;
using tests::Scratch;
using tests::operator+=;

// Threads that come and go one after another, with small flows that no record carries when they end.
TEST(EndedThread, SlotsArePassedOn) {
  const Scratch scratch;
  in_child([&] {
    settings.stacks = Stacks::none;
    tests::become_hot(scratch);
    constexpr std::uint64_t kThreads = 400;
    for (std::uint64_t t = 0; t < kThreads; ++t)
      std::thread([t] {
        for (std::uint64_t i = 0; i < 3; ++i) append_birth(*this_thread(), t * 10 + i);
        small_born(100);
        small_died(40);
      }).join();
    const std::uint32_t slots = ring_header()->slots;
    EXPECT_LE(slots, 200u);
    drain_rings(true);
    const auto births = births_in(scratch);
    ASSERT_EQ(births.size(), kThreads) << "each thread has an index of its own";
    std::set<std::uint64_t> seen;
    for (const auto& [thread, got] : births) {
      EXPECT_EQ(got, numbers(got.at(0), got.at(0) + 3)) << "of one thread";
      seen.insert(got.begin(), got.end());
    }
    EXPECT_EQ(seen.size(), 3 * kThreads);
    EXPECT_EQ(tests::lost_in_all(), 0u);
  });
}

TEST(EndedThread, FlowsOfEndedThreadsAreInTheTraceOrKept) {
  const Scratch scratch;
  in_child([&] {
    settings.stacks = Stacks::none;
    tests::become_hot(scratch);
    constexpr std::uint64_t kThreads = 300;
    for (std::uint64_t t = 0; t < kThreads; ++t)
      std::thread([] {
        append_birth(*this_thread(), 1);
        small_born(100);
        small_born(100);
        small_died(40);
      }).join();
    drain_rings(true);
    format::SmallTotals sum{};
    const auto segments = tests::read_segments(scratch.file("t.memtrace"));
    for (const auto& [thread, records] : by_thread(segments, format::Source::ring))
      for (const RingRecord& record : records) sum += tests::flows_of(record);
    EXPECT_GT(sum.births, kThreads) << "nothing was passed on: this tests nothing";
    EXPECT_LT(sum.births, 2 * kThreads) << "nothing is left over: this tests nothing";
    sum += take_unpublished_of_others();
    EXPECT_EQ(sum.allocated, kThreads * 200);
    EXPECT_EQ(sum.freed, kThreads * 40);
    EXPECT_EQ(sum.births, kThreads * 2);
    EXPECT_EQ(sum.deaths, kThreads);
  });
}

// A pass may wait for a slow disk: threads that begin meanwhile neither wait for it nor lose an event.
TEST(EndedThread, ThreadsBeginWhileAPassIsUnderWay) {
  const Scratch scratch;
  in_child([&] {
    settings.stacks = Stacks::none;
    tests::become_hot(scratch);
    constexpr std::uint64_t kEnded = 100, kPairs = 40;
    const auto begin_and_end = [] {
      RingRecord record = tests::birth_of(1, 4096, draw_stamp());
      emit(record);
      small_born(100);
    };
    for (std::uint64_t t = 0; t < kEnded; ++t) std::thread(begin_and_end).join();
    ASSERT_TRUE(pass_lock.lock());
    for (std::uint64_t t = 0; t < kPairs; ++t) {
      std::thread other(begin_and_end);
      std::thread(begin_and_end).join();
      other.join();
    }
    pass_lock.unlock();
    EXPECT_EQ(tests::lost_in_all(), 0u);
    drain_rings(true);
    EXPECT_EQ(births_in(scratch).size(), kEnded + 2 * kPairs);
  });
}

// What the startup log gave back moved the level when it was published first.
TEST(EndedThread, FoldedFlowsMoveNoLevel) {
  const Scratch scratch;
  in_child([&] {
    settings.stacks = Stacks::none;
    tests::become_hot(scratch);
    Thread* ended = nullptr;
    std::thread([&ended] {
      ended = this_thread();
      append_birth(*ended, 1);
      small_born(100);
      give_folded(*ended, {1000, 0, 1, 0});
    }).join();
    const std::int64_t before = host_level();
    EXPECT_FALSE(release_ended(*ended)) << "its records wait for a pass";
    EXPECT_EQ(host_level(), before + 100);
    drain_rings(true);
    EXPECT_TRUE(release_ended(*ended));
    EXPECT_EQ(host_level(), before + 100);
    const auto segments = tests::read_segments(scratch.file("t.memtrace"));
    const auto counters = all_of(segments, format::EventType::counters);
    ASSERT_EQ(counters.size(), 2u);
    EXPECT_EQ(counters[0].flags, format::kBefore);
    EXPECT_EQ(counters[0].as<format::CountersEvent>().flows.allocated, 1000u);
    EXPECT_EQ(counters[1].flags, 0u);
    EXPECT_EQ(counters[1].as<format::CountersEvent>().flows.allocated, 100u);
  });
}

} // namespace
} // namespace memtrace::record
