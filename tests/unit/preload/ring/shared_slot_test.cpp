// Purpose: threads for which the ring file has no slot share one: nothing is lost, and nothing counts twice.
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "births.h"
#include "preload/blocks/small_blocks.h"
#include "preload/os/timestamp.h"
#include "preload/process/exec.h"
#include "preload/record/emit.h"
#include "preload/record/thread_entry.h"
#include "preload/ring/ring.h"
#include "preload/ring/ring_file.h"
#include "preload/state/loss_counters.h"
#include "preload/state/settings.h"
#include "preload/state/thread.h"
#include "preload/trace/trace_file.h"

namespace memtrace::record {
namespace {

using format::RingRecord;
using tests::append_birth;
using tests::births_in;
using tests::in_child;
using tests::numbers;
using tests::Scratch;

// One chunk: room for 19 threads, a slot that all others share, and one for the thread that writes the end.
constexpr std::uint32_t kOwnSlots = format::kFirstSlots - 2;
void fill_own_slots() {
  trace_file.shares.rings = format::kChunkBytes;
  for (std::uint32_t i = 0; i < kOwnSlots; ++i)
    std::thread([] { EXPECT_TRUE(append_birth(*this_thread(), 1)); }).join();
}
void take_all_slots(const Scratch& scratch) {
  tests::become_hot(scratch, 1 << 20);
  fill_own_slots();
}

TEST(SharedSlot, IsOfThreadsBeyondTheOthers) {
  const Scratch scratch;
  in_child([&] {
    take_all_slots(scratch);
    for (std::uint64_t t = 0; t < 4; ++t)
      std::thread([t] {
        for (std::uint64_t i = 0; i < 100; ++i) EXPECT_TRUE(append_birth(*this_thread(), t * 100 + i));
      }).join();
    EXPECT_EQ(ring_header()->slots, format::kFirstSlots);
    drain_rings(true);
    EXPECT_EQ(births_in(scratch)[format::kSharedThread], numbers(0, 400));
    EXPECT_EQ(tests::lost_in_all(), 0u);
    open_reserve();
    std::thread([] { EXPECT_TRUE(append_birth(*this_thread(), 3)); }).join();
    drain_rings(true);
    EXPECT_EQ(births_in(scratch)[format::kSharedThread].size(), 400u) << "who writes the end has a slot";
  });
}

// Their flows are carried under the shared number. A slot that a thread gets later has the rest alone: a reader
// that compared it with the thread's records counted the flows twice.
TEST(SharedSlot, FlowsThatWereSharedAreNotInALaterSlot) {
  const Scratch scratch;
  in_child([&] {
    settings.stacks = Stacks::none;
    take_all_slots(scratch);
    std::thread([] {
      for (int i = 0; i < 3; ++i) small_born(100, 4096, 100); // the first of a thread is written out at once
      RingRecord birth = tests::birth_of(1 << 20, 5000, draw_stamp());
      EXPECT_TRUE(emit(birth));
      small_born(200, 4096, 200);
      open_reserve();
      RingRecord next = tests::birth_of(2 << 20, 5000, draw_stamp());
      EXPECT_TRUE(emit(next));
      EXPECT_EQ(this_thread()->slot->small.allocated, 200u);
      EXPECT_EQ(unpublished(*this_thread()).births, 0u);
    }).join();
    EXPECT_EQ(tests::lost_in_all(), 0u);
  });
}

// What a thread did for which there was no room at all lies in the header, where a kill leaves it.
TEST(SharedSlot, FlowsWithoutASlotSurvive) {
  const Scratch scratch;
  in_child([&] {
    settings.stacks = Stacks::none;
    take_all_slots(scratch);
    ::unlink(scratch.file("t.memtrace").c_str());
    std::thread([] {
      for (std::uint64_t i = 0; i < format::kSlotRecords; ++i) EXPECT_TRUE(append_birth(*this_thread(), i));
      RingRecord birth = tests::birth_of(1 << 20, 5000, draw_stamp());
      EXPECT_FALSE(emit(birth));
    }).join();
    std::thread([] { small_born(100, 4096, 100); }).join();
    const format::SmallTotals& kept = ring_header()->slotless;
    EXPECT_EQ(kept.births, 2u);
    EXPECT_EQ(kept.allocated, 5100u);
    EXPECT_EQ(take_slotless_flows().allocated, 5100u);
    EXPECT_EQ(kept.allocated, 0u);
  });
}

// Its old ring file has counts of what the shared records carried. They are not in its slot of the new file.
TEST(SharedSlot, FlowsOfAThreadWithAnOldSlotCountOnce) {
  const Scratch scratch;
  in_child([&] {
    settings.stacks = Stacks::none;
    tests::become_hot(scratch, 1 << 20);
    std::uint32_t turn = 0;
    const auto wait_for = [&turn](std::uint32_t wanted) {
      while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != wanted) std::this_thread::yield();
    };
    const auto next = [&turn] { __atomic_fetch_add(&turn, 1, __ATOMIC_RELEASE); };
    const auto say = [](std::uint64_t address) {
      RingRecord birth = tests::birth_of(address, 5000, draw_stamp());
      EXPECT_TRUE(emit(birth));
    };
    std::thread one([&] {
      say(1 << 20);
      for (int i = 0; i < 3; ++i) small_born(100, 4096, 100);
      next();
      wait_for(2);
      say(2 << 20); // shared, with the flows
      EXPECT_EQ(this_thread()->slot, nullptr);
      small_born(200, 4096, 200);
      open_reserve();
      say(3 << 20);
      EXPECT_EQ(this_thread()->slot->small.allocated, 200u);
      EXPECT_EQ(unpublished(*this_thread()).births, 0u);
    });
    wait_for(1);
    remove_ring_file();
    ASSERT_TRUE(renew_rings());
    fill_own_slots();
    next();
    one.join();
    EXPECT_EQ(tests::lost_in_all(), 0u);
  });
}

} // namespace
} // namespace memtrace::record
