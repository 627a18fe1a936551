// Purpose: phases wake the background thread only if it may look at the blocks.
#include "preload/samples/block_residency.h"
#include "preload/os/threads.h"
#include "preload/os/timestamp.h"
#include "preload/record/thread_entry.h"
#include "preload/ring/ring.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>

#include "child.h"

namespace memtrace::record {
namespace {

using tests::in_child;
using tests::Scratch;

constexpr std::uint64_t kBlock = 256 * 1024, kBlocks = 400;
constexpr std::uint64_t kOldEnough = 25'000'000;

// Returns the address of blocks of which every other page is written: a look at them is slow, and they are
// never fully resident.
std::uint64_t make_sparse_blocks() {
  void* const memory = mmap(nullptr, kBlock * kBlocks, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return 0;
  for (std::uint64_t at = 0; at < kBlock * kBlocks; at += 8192) static_cast<char*>(memory)[at] = 1;
  return reinterpret_cast<std::uint64_t>(memory);
}

TEST(BlockResidency, NoPhaseWakesTheThreadBeforeALookIsDue) {
  const Scratch scratch;
  in_child([&] {
    tests::become_hot(scratch);
    const std::uint64_t blocks = make_sparse_blocks();
    ASSERT_NE(blocks, 0u);
    for (std::uint64_t i = 0; i < kBlocks; ++i) {
      format::RingRecord record = tests::birth_of(blocks + i * kBlock, kBlock, draw_stamp());
      ASSERT_TRUE(ring_append(*this_thread(), record));
    }
    drain_rings(false);
    os::sleep_ns(kOldEnough);
    int early = 0;
    for (int i = 0; i < 200; ++i) {
      os::sleep_ns(1'000'000);
      look_at_blocks_if_due();
      if (blocks_may_be_touched(os::monotonic_ns()))
        ++early; // otherwise only if this thread had no CPU for 20 ms
    }
    EXPECT_LT(early, 20) << "a look was just taken, or is not due";
    bool due = false;
    for (int i = 0; i < 60'000 && !due; ++i) {
      os::sleep_ns(1'000'000);
      due = blocks_may_be_touched(os::monotonic_ns());
    }
    EXPECT_TRUE(due) << "the blocks are not fully resident";
  });
}

} // namespace
} // namespace memtrace::record
