// Purpose: how much threads without a slot may count that a kill leaves in no file, and when they are looked
// at.
#include <gtest/gtest.h>

#include <barrier>
#include <thread>

#include "births.h"
#include "child.h"
#include "preload/blocks/recording.h"
#include "preload/blocks/small_blocks.h"
#include "preload/os/timestamp.h"
#include "preload/record/emit.h"
#include "preload/record/live_levels.h"
#include "preload/record/thread_entry.h"
#include "preload/record/thread_list.h"
#include "preload/ring/ring.h"
#include "preload/ring/ring_file.h"
#include "preload/state/recorder_state.h"
#include "preload/state/settings.h"
#include "preload/state/thread.h"

namespace memtrace::record {
namespace {

using tests::append_birth;
using tests::in_child;
using tests::Scratch;

// When recording begins they are set before it and after it: threads begin, or are looked at, in between.
TEST(Uncounted, SetAgainReplacesWhatWasSet) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    Thread* other = nullptr;
    std::barrier<> turn(2);
    std::thread thread([&] {
      other = this_thread();
      turn.arrive_and_wait(); // 1
      turn.arrive_and_wait(); // 2
      set_look_at_births(*other, kTickBytes / 4);
      set_look_at_deaths(*other, kTickBytes / 2);
      turn.arrive_and_wait(); // 3
      turn.arrive_and_wait(); // 4
      append_birth(*other, 1);
    });
    turn.arrive_and_wait(); // 1
    set_uncounted_bounds();
    EXPECT_EQ(ring_header()->uncounted_bound, kTickBytes);
    set_uncounted_bounds();
    EXPECT_EQ(ring_header()->uncounted_bound, kTickBytes) << "once for each thread";
    turn.arrive_and_wait(); // 2
    turn.arrive_and_wait(); // 3
    set_uncounted_bounds();
    EXPECT_EQ(ring_header()->uncounted_bound, kTickBytes / 2);
    settings.counting = true;
    set_uncounted_bounds();
    EXPECT_EQ(ring_header()->uncounted_bound, kTickBytes / 4 * 3) << "births of large blocks are in no record";
    turn.arrive_and_wait(); // 4
    thread.join();
    EXPECT_EQ(ring_header()->uncounted_bound, 0u) << "it has a slot";
    set_uncounted_bounds();
    EXPECT_EQ(ring_header()->uncounted_bound, 0u);
  });
}

TEST(Uncounted, ThreadsOfAForkedChildAreLookedAtMoreOften) {
  const Scratch scratch;
  in_child([&] {
    settings.min_peak = ~std::uint64_t{0} >> 1;
    enter(State::buffering);
    Thread& thread = *this_thread();
    EXPECT_EQ(tick_bytes(thread), kTickBytes) << "no forked child";
    look_often_without_slot(true);
    EXPECT_EQ(tick_bytes(thread), 16 * 1024);
    tests::open_files(scratch);
    enter(State::recording);
    append_birth(thread, 1);
    EXPECT_EQ(tick_bytes(thread), kTickBytes) << "it has a slot";
  });
}

// The flows that a record carries moved the level again with each record that failed.
TEST(Uncounted, AFailedRecordMovesNoLevel) {
  const Scratch scratch;
  in_child([&] {
    settings.stacks = Stacks::none;
    tests::become_hot(scratch, 300'000); // too little for windows
    Thread& thread = *this_thread();
    for (std::uint64_t i = 0; append_birth(thread, i * 0x9E3779B97F4A7C15u);) ++i;
    small_born(100);
    for (int i = 0; i < 3; ++i) {
      format::RingRecord record = tests::birth_of(1 << 20, 5000, draw_stamp());
      EXPECT_FALSE(emit(record));
      EXPECT_EQ(host_level(), 0);
    }
    EXPECT_EQ(unpublished(thread).allocated, 100u + 3 * 5000u) << "lost blocks are counted";
  });
}

} // namespace
} // namespace memtrace::record
