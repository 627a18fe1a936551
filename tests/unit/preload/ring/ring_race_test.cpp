// Purpose: two writers and the reader as ordinary threads: what they share is ordered by the ring's own stores
// and loads.
//
// The thread sanitizer (preset tsan) sees each pair of accesses that nothing orders. scripts/gates/check_orders
// weakens each memory order of the protocol and expects that these tests, or the models of tests/models, fail.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "births.h"
#include "child.h"
#include "preload/os/clocks.h"
#include "preload/record/thread_entry.h"
#include "preload/ring/ring.h"
#include "preload/ring/ring_file.h"
#include "preload/state/thread.h"
#include "preload/trace/trace_file.h"
#include "reading.h"

namespace memtrace::record {
namespace {

using format::kChunkBytes;
using format::kRingRecords;
using format::RingRecord;
using format::RingSlot;
using tests::in_child;
using tests::Scratch;

// False: not recorded, for a lock could not be had in time. The stamp is not drawn: that orders the threads
// with each other, and a missing order of the ring would not be seen.
bool append(std::uint64_t number) {
  Thread* const thread = this_thread();
  RingRecord record = tests::birth_of(number, 4096, os::monotonic_ns());
  return thread != nullptr && ring_append(*thread, record);
}

// Each thread's numbers in the trace file, which rise by one from `from` on.
std::uint64_t written(const Scratch& scratch, std::uint64_t from) {
  std::uint64_t sum = 0;
  const auto segments = tests::read_segments(scratch.file("t.memtrace"));
  for (const auto& [thread, records] : by_thread(segments, format::Source::ring)) {
    std::uint64_t next = from;
    for (const RingRecord& record : records) {
      if (!tests::is(record, format::EventType::birth)) continue;
      EXPECT_EQ(record.as<format::BirthEvent>().address, next++) << "thread " << thread;
    }
    sum += next - from;
  }
  return sum;
}

// Passes until `over`: the drain's work on an ordinary thread. It rests as the drain does: a thread that waits
// for the pass lock would else never have it on a busy machine.
std::thread passing(const bool* over) {
  return std::thread([over] {
    while (!__atomic_load_n(over, __ATOMIC_RELAXED)) {
      drain_rings(false);
      std::this_thread::yield();
    }
  });
}

TEST(RingRace, TwoWritersAndTheReader) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    constexpr std::uint64_t kEach = 4 * kRingRecords + 100;
    std::uint64_t taken[2] = {};
    bool over = false;
    std::thread drain = passing(&over);
    std::vector<std::thread> writers;
    for (std::uint64_t& mine : taken)
      writers.emplace_back([&mine] {
        for (std::uint64_t i = 0; i < kEach; ++i) mine += append(mine) ? 1 : 0;
      });
    for (std::thread& writer : writers) writer.join();
    __atomic_store_n(&over, true, __ATOMIC_RELAXED);
    drain.join();
    drain_rings(true);
    EXPECT_TRUE(rings_are_empty());
    EXPECT_EQ(written(scratch, 0), taken[0] + taken[1]);
    EXPECT_GT(taken[0] + taken[1], kEach) << "most was taken";
  });
}

// Without a drain a writer whose ring is full passes over the other's ring too.
TEST(RingRace, WritersPassOverEachOthersRings) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    std::uint64_t taken[3] = {};
    std::vector<std::thread> writers;
    for (std::uint64_t& mine : taken)
      writers.emplace_back([&mine] {
        for (std::uint64_t i = 0; i < 3 * kRingRecords; ++i) mine += append(mine) ? 1 : 0;
      });
    for (std::thread& writer : writers) writer.join();
    drain_rings(true);
    EXPECT_EQ(written(scratch, 0), taken[0] + taken[1] + taken[2]);
  });
}

// Threads that come and go while a pass runs: a ring has several owners in turn. Two at a time, of which one
// frees the rings of those that were joined and the other one may take them. Neither ends before both have
// recorded: that a thread is gone is known from the kernel, which the sanitizer does not see.
void pass_rings_on(bool drained) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    constexpr std::uint32_t kPairs = 100, kEach = 8;
    std::uint64_t taken = 0;
    bool over = false;
    std::thread drain;
    if (drained) drain = passing(&over);
    for (std::uint32_t round = 0; round < kPairs; ++round) {
      std::uint32_t known = 0, done = 0;
      std::vector<std::thread> pair;
      for (const bool second : {false, true})
        // In every other round, so that the ring which the first one frees is the one that the second one
        // takes.
        pair.emplace_back([&taken, &known, &done, second, leads = second == (round % 2 != 0)] {
          std::uint64_t mine = 0;
          const auto wait_for = [&known](std::uint32_t turn) {
            while (__atomic_load_n(&known, __ATOMIC_RELAXED) < turn) std::this_thread::yield();
          };
          // The second one has its thread's record before the first one frees rings, and takes a ring before
          // the first one does: only the ring itself tells it that it is free.
          if (!second) wait_for(1);
          this_thread();
          __atomic_store_n(&known, second ? 1u : 2u, __ATOMIC_RELAXED);
          wait_for(leads ? 2 : 3);
          for (std::uint32_t n = 0; n < kEach; ++n) {
            mine += append(mine) ? 1 : 0;
            if (leads) __atomic_store_n(&known, 3u, __ATOMIC_RELAXED);
          }
          __atomic_fetch_add(&taken, mine, __ATOMIC_RELAXED);
          __atomic_fetch_add(&done, 1u, __ATOMIC_RELAXED);
          while (__atomic_load_n(&done, __ATOMIC_RELAXED) != 2) std::this_thread::yield();
        });
      for (std::thread& thread : pair) thread.join();
    }
    __atomic_store_n(&over, true, __ATOMIC_RELAXED);
    if (drained) drain.join();
    drain_rings(true);
    EXPECT_LT(ring_header()->slots, 2 * kPairs) << "no ring had a second owner: this tests nothing";
    EXPECT_EQ(written(scratch, 0), taken);
  });
}

TEST(RingRace, RingsPassFromOwnerToOwner) {
  pass_rings_on(true);
}
// The stamp that each pass draws orders the threads, too: without passes only the ring does.
TEST(RingRace, RingsPassOnWithoutADrain) {
  pass_rings_on(false);
}

// Eight threads and chunks for five rings of 256 records: a thread that pauses loses its ring to another one,
// and wakes while a pass takes it. Over when that happened often enough.
TEST(RingRace, RingsAreTakenBackFromThreadsThatPause) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    trace_file.shares.rings = 8 * kChunkBytes;
    constexpr std::uint64_t kThreads = 8, kOften = 40, kBurst = 7;
    std::uint64_t taken_back = 0, all = 0;
    bool over = false;
    std::thread drain = passing(&over);
    std::vector<std::thread> writers;
    for (std::uint64_t t = 0; t < kThreads; ++t)
      writers.emplace_back([&] {
        std::uint64_t mine = 0;
        std::uint32_t ring = 0;
        while (__atomic_load_n(&taken_back, __ATOMIC_RELAXED) < kOften) {
          for (std::uint64_t i = 0; i < kBurst; ++i) mine += append(mine) ? 1 : 0;
          const std::uint32_t index = this_thread()->slot_index;
          ring = ring_word(index);
          for (int turn = 0; turn < 20; ++turn) std::this_thread::yield();
          if (ring != 0 && ring_word(index) == 0) __atomic_fetch_add(&taken_back, 1u, __ATOMIC_RELAXED);
        }
        __atomic_fetch_add(&all, mine, __ATOMIC_RELAXED);
      });
    for (std::thread& writer : writers) writer.join();
    __atomic_store_n(&over, true, __ATOMIC_RELAXED);
    drain.join();
    drain_rings(true);
    EXPECT_EQ(written(scratch, 0), all);
    EXPECT_LE(trace_file.ring_bytes, 8 * kChunkBytes);
  });
}

// More threads than slots: what they share is theirs in turn, while passes read it.
TEST(RingRace, ThreadsWithoutASlotShareOne) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch, 1 << 20);
    trace_file.shares.rings = kChunkBytes;
    constexpr std::uint32_t kOwn = format::kFirstSlots - 2, kWriters = 4;
    constexpr std::uint64_t kEach = 1000;
    for (std::uint32_t i = 0; i < kOwn; ++i) std::thread([] { EXPECT_TRUE(append(0)); }).join();
    bool over = false;
    std::thread drain = passing(&over);
    std::uint64_t taken[kWriters] = {};
    std::vector<std::thread> writers;
    for (std::uint64_t w = 0; w < kWriters; ++w)
      writers.emplace_back([&mine = taken[w], w] {
        for (std::uint64_t i = 0; i < kEach; ++i) mine += append(w * kEach + mine) ? 1 : 0;
      });
    for (std::thread& writer : writers) writer.join();
    __atomic_store_n(&over, true, __ATOMIC_RELAXED);
    drain.join();
    drain_rings(true);
    std::uint64_t next[kWriters] = {};
    const auto births = tests::births_in(scratch);
    ASSERT_TRUE(births.contains(format::kSharedThread));
    for (const std::uint64_t number : births.at(format::kSharedThread))
      EXPECT_EQ(number % kEach, next[number / kEach]++) << "of writer " << number / kEach;
    for (std::uint32_t w = 0; w < kWriters; ++w) {
      EXPECT_EQ(next[w], taken[w]);
      EXPECT_GT(taken[w], 0u);
    }
  });
}

// What the analyzer does with the file of a running process, by the same loads. No pass runs: a record that is
// overwritten while it is read is what the analyzer finds out by reading the slot again.
class LiveReader {
 public:
  // Records that it finds in all slots: never fewer than before.
  std::uint64_t read() {
    std::uint64_t all = 0;
    const std::uint32_t slots = __atomic_load_n(&header()->slots, __ATOMIC_ACQUIRE);
    for (std::uint32_t i = 0; i < slots; ++i) {
      const std::uint64_t count = read_slot(reinterpret_cast<RingSlot*>(at(offset_of(i))));
      EXPECT_GE(count, found_[i]) << "slot " << i << ": what was there is there no more";
      found_[i] = count;
      all += count;
    }
    return all;
  }

 private:
  static format::RingFileHeader* header() { return ring_header(); }
  static char* at(std::uint64_t offset) { return reinterpret_cast<char*>(header()) + offset; }
  static std::uint64_t offset_of(std::uint32_t index) {
    if (index < format::kFirstSlots) return format::kPage + index * format::kSlotBytes;
    index -= format::kFirstSlots;
    return header()->batch[index / format::kBatchSlots] * kChunkBytes +
           index % format::kBatchSlots * format::kSlotBytes;
  }
  static std::uint64_t read_slot(RingSlot* slot) {
    if (__atomic_load_n(&slot->tid, __ATOMIC_ACQUIRE) == 0) return 0;
    EXPECT_NE(slot->thread, 0u);
    const std::uint32_t ring = __atomic_load_n(&slot->ring, __ATOMIC_ACQUIRE);
    const auto* const records =
        ring == 0 ? records_inside(slot)
                  : reinterpret_cast<RingRecord*>(at(format::chunk_of_ring(ring) * kChunkBytes));
    std::uint64_t next = 0;
    while (next < format::records_of_ring(ring) &&
           __atomic_load_n(&records[next].commit, __ATOMIC_ACQUIRE) == static_cast<std::uint32_t>(next + 1)) {
      EXPECT_EQ(records[next].as<format::BirthEvent>().address, next);
      ++next;
    }
    return next;
  }
  std::uint64_t found_[format::kFirstSlots + format::kBatchSlots] = {};
};

// A thread that looks for the ring file finds none, or a whole one.
TEST(RingRace, ANewFileIsSeenWhole) {
  const Scratch scratch;
  in_child([&] {
    std::thread reader([] {
      while (ring_header() == nullptr) std::this_thread::yield();
      EXPECT_EQ(ring_header()->chunk_bytes, kChunkBytes);
    });
    tests::open_files(scratch);
    reader.join();
  });
}

// More threads than the first chunk has slots for. One ring of each length, all in the file's first mapping.
TEST(RingRace, ALiveFileIsReadWhileRingsGrow) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    constexpr std::uint32_t kThreads = format::kFirstSlots + 4;
    bool over = false;
    LiveReader live;
    std::thread reader([&] {
      while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) live.read();
    });
    // Not on the same thread: what these load would order the reader's loads, too.
    std::thread in_process([&] {
      while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
        rings_are_empty();
        EXPECT_FALSE(has_ring(0)) << "the recorder's own thread has no slot";
      }
    });
    std::vector<std::thread> writers;
    std::uint64_t all = 0;
    for (std::uint32_t t = 0; t < kThreads; ++t)
      writers.emplace_back([&all, count = t == 0       ? 1500u
                                          : t % 2 == 0 ? 4u
                                                       : 100u] {
        std::uint64_t mine = 0;
        while (mine < count) mine += append(mine) ? 1 : 0;
        __atomic_fetch_add(&all, mine, __ATOMIC_RELAXED);
      });
    for (std::thread& writer : writers) writer.join();
    __atomic_store_n(&over, true, __ATOMIC_RELAXED);
    reader.join();
    in_process.join();
    EXPECT_GT(ring_header()->slots, format::kFirstSlots) << "no slots were added: this tests nothing";
    EXPECT_EQ(live.read(), all);
  });
}

} // namespace
} // namespace memtrace::record
