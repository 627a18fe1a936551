// Room: tests.
// Job: two writers and the reader as ordinary threads: what they share is ordered by the ring's own stores and
// loads.
//
// The thread sanitizer (preset tsan) sees each pair of accesses that nothing orders. scripts/check_orders
// weakens each memory order of the protocol and expects that these tests, or the models of tests/models, fail.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "child.h"
#include "reading.h"
#include "record/ring.h"
#include "record/stamp.h"
#include "record/thread.h"

namespace memtrace::record {
namespace {

using format::kRingRecords;
using format::RingRecord;
using tests::in_child;
using tests::Scratch;

// False: not recorded, for a lock could not be had in time.
bool append(std::uint64_t number) {
  Thread* const thread = this_thread();
  RingRecord record = tests::birth_of(number, 4096, draw_stamp());
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
      EXPECT_EQ(record.word[0], next++) << "thread " << thread;
    }
    sum += next - from;
  }
  return sum;
}

// Passes until `over`: the drain's work on an ordinary thread.
std::thread passing(const bool* over) {
  return std::thread([over] {
    while (!__atomic_load_n(over, __ATOMIC_RELAXED)) drain_rings(false);
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

} // namespace
} // namespace memtrace::record
