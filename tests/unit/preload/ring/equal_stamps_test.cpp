// Purpose: records of two threads with one stamp: a pass takes the thread with the lower number first, as the
// analyzer does, so that both find the same peak.
#include <semaphore>
#include <thread>

#include <gtest/gtest.h>

#include "child.h"
#include "preload/record/thread_entry.h"
#include "preload/ring/ring.h"
#include "preload/trace/trace_windows.h"

namespace memtrace::record {
namespace {

using format::EventType;
using tests::in_child;
using tests::Scratch;

constexpr std::uint64_t kOfEqualStamps = 1000;

void append_stamped(Thread& thread, EventType type, std::uint64_t address, format::Stamp stamp) {
  format::RingRecord record = tests::birth_of(address, kOfEqualStamps, stamp);
  record.type = static_cast<std::uint8_t>(type);
  ASSERT_TRUE(ring_append(thread, record));
}

std::int64_t highest_since_last() {
  const std::int64_t highest = folded.highest()[0][rollup::live];
  folded.forget_highest();
  return highest;
}

TEST(EqualStamps, TheThreadWithTheLowerNumberIsFirst) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    Thread& lower = *this_thread();
    std::binary_semaphore go{0}, done{0};
    const auto turn = [&] { done.release(), go.acquire(); };
    std::thread other([&] {
      Thread& higher = *this_thread();
      ASSERT_GT(higher.index, lower.index);
      append_stamped(higher, EventType::birth, 0x1000, 10); // its slot is the first one
      turn();
      append_stamped(higher, EventType::death, 0x1000, 20);
      turn();
      append_stamped(higher, EventType::birth, 0x3000, 30);
      done.release();
    });
    done.acquire();
    drain_rings(true);
    EXPECT_EQ(highest_since_last(), kOfEqualStamps);

    go.release();
    done.acquire();
    append_stamped(lower, EventType::birth, 0x2000, 20);
    drain_rings(true);
    EXPECT_EQ(highest_since_last(), 2 * kOfEqualStamps) << "the birth is first";

    go.release();
    done.acquire();
    append_stamped(lower, EventType::death, 0x2000, 30);
    drain_rings(true);
    EXPECT_EQ(highest_since_last(), kOfEqualStamps) << "the death is first";
    other.join();
  });
}

} // namespace
} // namespace memtrace::record
