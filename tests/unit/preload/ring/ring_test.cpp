// Purpose: rings that fill, meet the bound, are renewed and passed on: no record is lost uncounted.
#include "preload/ring/ring.h"
#include "preload/blocks/recording.h"
#include "preload/blocks/small_blocks.h"
#include "preload/os/timestamp.h"
#include "preload/process/exec.h"
#include "preload/record/emit.h"
#include "preload/record/thread_entry.h"
#include "preload/ring/ring_file.h"
#include "preload/state/thread.h"
#include "preload/trace/trace_file.h"
#include "preload/trace/trace_windows.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <thread>
#include <vector>

#include "births.h"
#include "child.h"
#include "reading.h"

namespace memtrace::record {
namespace {

using format::EventType;
using format::kRingRecords;
using format::RingRecord;
using tests::append_birth;
using tests::births_in;
using tests::in_child;
using tests::numbers;
using tests::Scratch;
using tests::operator+=;

constexpr std::uint32_t kFull = kRingRecords - kRingReserve;

TEST(Ring, ProducerWritesOutAFullRing) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    Thread& thread = *this_thread();
    const std::uint64_t count = 3 * kRingRecords + 5;
    for (std::uint64_t i = 0; i < count; ++i) ASSERT_TRUE(append_birth(thread, i));
    EXPECT_EQ(births_in(scratch)[thread.index].size(), 3u * kFull) << "without any drain";
    EXPECT_FALSE(rings_are_empty());
    drain_rings(true);
    EXPECT_TRUE(rings_are_empty());
    EXPECT_EQ(births_in(scratch)[thread.index], numbers(0, count));
    EXPECT_EQ(tests::lost_in_all(), 0u);
    EXPECT_EQ(ring_header()->trace_bytes, std::filesystem::file_size(scratch.file("t.memtrace")));
  });
}

TEST(Ring, DrainedTwiceIsWrittenOnce) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    Thread& thread = *this_thread();
    for (std::uint64_t i = 0; i < 5000; ++i) {
      ASSERT_TRUE(append_birth(thread, i));
      if (i % 700 == 0) drain_rings(false);
      if (i % 1400 == 0) drain_rings(false);
    }
    drain_rings(true);
    EXPECT_EQ(births_in(scratch)[thread.index], numbers(0, 5000));
  });
}

TEST(Ring, DrainAndProducersAtOnce) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    std::vector<std::thread> threads;
    bool over = false;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([] {
        for (std::uint64_t i = 0; i < 30'000; ++i) append_birth(*this_thread(), i);
      });
    std::thread drain([&] {
      while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) drain_rings(false);
    });
    for (std::thread& thread : threads) thread.join();
    __atomic_store_n(&over, true, __ATOMIC_RELEASE);
    drain.join();
    drain_rings(true);
    const auto births = births_in(scratch);
    EXPECT_EQ(births.size(), 3u);
    for (const auto& [thread, got] : births) EXPECT_EQ(got, numbers(0, 30'000)) << thread;
    EXPECT_EQ(tests::lost_in_all(), 0u);
  });
}

TEST(Ring, WhatAKilledProcessLeaves) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    Thread& thread = *this_thread();
    for (std::uint64_t i = 0; i < kRingRecords + 100; ++i) ASSERT_TRUE(append_birth(thread, i));
    // As a reader of the file would: slot 0, from `tail` on while the commit words say so.
    const auto* const slot = thread.slot;
    EXPECT_EQ(slot->thread, thread.index);
    EXPECT_EQ(slot->tid, thread.tid);
    EXPECT_EQ(slot->tail, kFull);
    EXPECT_EQ(slot->head, kRingRecords + 100u);
    const RingRecord* const records = ring_of(thread.slot_index).records;
    EXPECT_EQ(slot->ring, ring_word(thread.slot_index));
    std::uint64_t next = slot->tail;
    while (records[next % kRingRecords].commit == static_cast<std::uint32_t>(next + 1)) {
      EXPECT_EQ(records[next % kRingRecords].as<format::BirthEvent>().address, next);
      ++next;
    }
    EXPECT_EQ(next, slot->head);
    constexpr std::size_t kLongest = kRingRecords * sizeof(RingRecord);
    EXPECT_EQ(std::filesystem::file_size(scratch.file("t.rings")), 2 * kLongest)
        << "the first chunks, and one ring";
  });
}

TEST(Ring, BoundReached) {
  const Scratch scratch;
  in_child([&] {
    const std::uint64_t bound = 300'000; // too little for windows
    tests::become_hot(scratch, bound);
    Thread& thread = *this_thread();
    std::uint64_t stored = 0;
    constexpr std::uint64_t kAll = 200'000;
    for (std::uint64_t i = 0; i < kAll; ++i) stored += append_birth(thread, i * 0x9E3779B97F4A7C15u) ? 1 : 0;
    EXPECT_LT(stored, kAll);
    EXPECT_GT(stored, 3u * kRingRecords);
    EXPECT_EQ(tests::lost_for(format::Loss::bound), kAll - stored);
    EXPECT_EQ(tests::lost_in_all(), kAll - stored);
    drain_rings(true);
    EXPECT_EQ(births_in(scratch)[thread.index].size(), stored) << "what was taken is in the file";
    EXPECT_LE(std::filesystem::file_size(scratch.file("t.memtrace")) + trace_file.ring_bytes, bound);
  });
}

// The failure that taught it: 400 threads had 240 rings of 2,048 records, and the events of the others were
// dropped.
TEST(Ring, ManyThreadsWithinASmallBound) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch, 4 << 20);
    constexpr std::uint64_t kThreads = 400, kEach = 40;
    std::vector<std::thread> threads;
    std::uint64_t arrived = 0;
    for (std::uint64_t t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (std::uint64_t i = 0; i < kEach; ++i) append_birth(*this_thread(), t * kEach + i);
        __atomic_fetch_add(&arrived, 1, __ATOMIC_RELEASE);
        while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) != kThreads) std::this_thread::yield();
      });
    for (std::thread& thread : threads) thread.join();
    drain_rings(true);
    EXPECT_EQ(tests::lost_in_all(), 0u);
    EXPECT_LE(trace_file.ring_bytes, trace_file.shares.rings);
    std::set<std::uint64_t> seen;
    for (const auto& [thread, got] : births_in(scratch)) seen.insert(got.begin(), got.end());
    EXPECT_EQ(seen.size(), kThreads * kEach);
  });
}

TEST(Ring, GrowsWithItsThread) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    Thread& thread = *this_thread();
    std::uint64_t i = 0;
    const auto size_after = [&](std::uint64_t count) {
      for (; i < count; ++i) EXPECT_TRUE(append_birth(thread, i));
      return ring_of(thread.slot_index).size;
    };
    EXPECT_EQ(size_after(4), format::kSlotRecords);
    EXPECT_EQ(size_after(5), 1u << kLog2Longer) << "when it is half full";
    EXPECT_EQ(size_after(128), 1u << kLog2Longer);
    EXPECT_EQ(size_after(129), kRingRecords);
    EXPECT_EQ(size_after(1500), kRingRecords);
    drain_rings(false);
    EXPECT_EQ(births_in(scratch)[thread.index], numbers(0, 1500)) << "nothing was left in a shorter one";
  });
}

// An idle thread gives its long ring to one that needs it, and goes on in its slot.
TEST(Ring, IsTakenBackFromAnIdleThread) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch, 1 << 20); // 8 chunks: no ring of 2,048 records, 5 of 256
    std::vector<Thread*> idle;
    for (int t = 0; t < 5; ++t) {
      std::thread([&] {
        for (std::uint64_t i = 0; i < 5; ++i) append_birth(*this_thread(), i);
        idle.push_back(this_thread());
      }).join();
      EXPECT_EQ(ring_of(idle.back()->slot_index).size, 1u << kLog2Longer);
    }
    drain_rings(false);
    Thread& busy = *this_thread();
    for (std::uint64_t i = 0; i < 6; ++i) ASSERT_TRUE(append_birth(busy, i));
    EXPECT_EQ(ring_of(busy.slot_index).size, format::kSlotRecords) << "there was none: this tests nothing";
    drain_rings(false);
    for (const Thread* thread : idle) EXPECT_EQ(ring_of(thread->slot_index).size, format::kSlotRecords);
    for (std::uint64_t i = 6; i < 100; ++i) ASSERT_TRUE(append_birth(busy, i));
    EXPECT_EQ(ring_of(busy.slot_index).size, 1u << kLog2Longer);
    for (std::uint64_t i = 5; i < 9; ++i) ASSERT_TRUE(append_birth(*idle[0], i)) << "it goes on";
    drain_rings(true);
    auto births = births_in(scratch);
    EXPECT_EQ(births[busy.index], numbers(0, 100));
    EXPECT_EQ(births[idle[0]->index], numbers(0, 9));
    EXPECT_EQ(tests::lost_in_all(), 0u);
  });
}

// The bytes of a record that is dropped stay in the flows of its thread, and are counted apart.
TEST(Ring, BytesOfLostEventsStay) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    Thread& thread = *this_thread();
    for (std::uint64_t i = 0; i < kFull; ++i) ASSERT_TRUE(append_birth(thread, i));
    ::unlink(scratch.file("t.memtrace").c_str());
    RingRecord birth = tests::birth_of(1 << 20, 5000, draw_stamp());
    RingRecord death = birth;
    death.type = static_cast<std::uint8_t>(EventType::death);
    RingRecord mapping = tests::birth_of(1 << 24, 8192, draw_stamp());
    mapping.kind = static_cast<std::uint8_t>(format::Kind::mmap_anon);
    EXPECT_FALSE(emit(birth));
    EXPECT_FALSE(emit(birth));
    EXPECT_FALSE(emit(death));
    EXPECT_FALSE(emit(mapping));
    const format::SmallTotals flows = unpublished(thread);
    EXPECT_EQ(flows.allocated, 10'000u);
    EXPECT_EQ(flows.freed, 5'000u);
    EXPECT_EQ(flows.births, 2u);
    EXPECT_EQ(flows.deaths, 1u);
    const format::LostBlocks& lost = ring_header()->lost_blocks;
    EXPECT_EQ(lost.births, 3u);
    EXPECT_EQ(lost.birth_bytes, 18'192u);
    EXPECT_EQ(lost.deaths, 1u);
    EXPECT_EQ(lost.death_bytes, 5'000u);
    EXPECT_EQ(lost.uncounted_birth_bytes, 8'192u) << "a mapping has no flows";
    EXPECT_EQ(lost.uncounted_death_bytes, 0u);
  });
}

TEST(Ring, DiskError) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    Thread& thread = *this_thread();
    for (std::uint64_t i = 0; i < kFull; ++i) ASSERT_TRUE(append_birth(thread, i));
    ::unlink(scratch.file("t.memtrace").c_str());
    EXPECT_FALSE(append_birth(thread, 1));
    EXPECT_FALSE(append_birth(thread, 2)) << "not tried again at once";
    EXPECT_EQ(tests::lost_for(format::Loss::disk), 2u);
    EXPECT_EQ(trace_file.bytes, 0u) << "what was not written is not counted";
    open_reserve();
    EXPECT_TRUE(append_birth(thread, 3)) << "the end has room of its own";
  });
}

// Threads that record while one of them tries to exec: each goes on in the new file, and leaves nothing in the
// old.
TEST(Ring, RenewedWhileThreadsRecord) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    bool over = false;
    std::uint64_t taken[2] = {};
    std::vector<std::thread> threads;
    for (std::uint64_t& mine : taken)
      threads.emplace_back([&] {
        while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) mine += append_birth(*this_thread(), mine) ? 1 : 0;
        mine += append_birth(*this_thread(), mine) ? 1 : 0;
      });
    threads.emplace_back([&] {
      while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
        EXPECT_EQ(ring_header()->trace_id, tests::kTraceId);
        rings_are_empty();
      }
    });
    for (int renewals = 0; renewals < 50;) {
      remove_ring_file();
      renewals += renew_rings() ? 1 : 0;
    }
    __atomic_store_n(&over, true, __ATOMIC_RELEASE);
    for (std::thread& thread : threads) thread.join();
    drain_rings(true);
    std::uint64_t written = 0;
    for (const auto& [thread, got] : births_in(scratch)) {
      EXPECT_EQ(got, numbers(0, got.size())) << thread;
      written += got.size();
    }
    EXPECT_EQ(written, taken[0] + taken[1]);
  });
}

TEST(Ring, RenewedAfterAFailedExec) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    Thread& thread = *this_thread();
    for (std::uint64_t i = 0; i < 10; ++i) ASSERT_TRUE(append_birth(thread, i));
    lost(format::Loss::stacks, 3);
    drain_rings(true);
    for (std::uint64_t i = 10; i < 20; ++i) ASSERT_TRUE(append_birth(thread, i)); // while the exec was tried
    remove_ring_file();
    EXPECT_FALSE(std::filesystem::exists(scratch.file("t.rings")));
    ASSERT_TRUE(renew_rings());
    EXPECT_TRUE(std::filesystem::exists(scratch.file("t.rings")));
    EXPECT_EQ(tests::lost_for(format::Loss::stacks), 3u) << "totals go with it";
    EXPECT_EQ(ring_header()->trace_id, tests::kTraceId);
    for (std::uint64_t i = 20; i < 30; ++i) ASSERT_TRUE(append_birth(thread, i));
    EXPECT_EQ(ring_header()->slots, format::kFirstSlots);
    drain_rings(true);
    EXPECT_EQ(births_in(scratch)[thread.index], numbers(0, 30));
  });
}

// A kill leaves nothing of what a thread counts in its slot of the old file.
TEST(Ring, RenewedWhileAnotherThreadHasASlot) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    constexpr std::uint64_t kFolded = 1000; // in no record: the startup log gave it back
    std::uint32_t turn = 0;
    const auto wait_for = [&turn](std::uint32_t wanted) {
      while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != wanted) std::this_thread::yield();
    };
    const auto next = [&turn] { __atomic_fetch_add(&turn, 1, __ATOMIC_RELEASE); };
    std::thread other([&] {
      append_birth(*this_thread(), 0);
      this_thread()->folded.freed = kFolded;
      next();
      wait_for(2);
      append_birth(*this_thread(), 1);
    });
    append_birth(*this_thread(), 0);
    wait_for(1);
    EXPECT_EQ(ring_header()->uncounted_bound, 0u);
    for (int times = 0; times < 2; ++times) {
      remove_ring_file();
      ASSERT_TRUE(renew_rings());
      EXPECT_EQ(ring_header()->uncounted_bound, kTickBytes + kFolded);
    }
    next();
    other.join();
    EXPECT_EQ(ring_header()->uncounted_bound, 0u) << "it has a slot of the new file";
  });
}

TEST(Ring, NoDescriptorIsHeld) {
  const Scratch scratch;
  in_child([&] {
    const int before = ::dup(0);
    ::close(before);
    tests::become_hot(scratch);
    for (std::uint64_t i = 0; i < kRingRecords + 1; ++i) append_birth(*this_thread(), i);
    drain_rings(true);
    EXPECT_EQ(::dup(0), before);
  });
}

TEST(Ring, ForkedChildTouchesNothing) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    append_birth(*this_thread(), 1);
    const std::uint64_t head = this_thread()->slot->head;
    const auto* const slot = this_thread()->slot;
    forget_rings();
    EXPECT_EQ(ring_header(), nullptr);
    EXPECT_EQ(slot->head, head);
    forget_other_threads();
    EXPECT_EQ(this_thread()->slot, nullptr);
    EXPECT_EQ(this_thread()->index, 1u);
    EXPECT_EQ(this_thread()->sequence, 0u);
  });
}

} // namespace
} // namespace memtrace::record
