// Purpose: from an allocator's answer and the resident pages: its free memory in RSS, and its used memory that
// no hook saw.
// Runs: on the background thread.
#pragma once

#include <cstdint>

#include "preload/rss/ledger_handshake.h"

namespace memtrace::record {

// The facts that are known without a query of the allocator, in bytes.
struct OfAllocator {
  std::uint64_t total;       // RSS
  std::uint64_t given;       // of its live blocks, recorded or counted
  std::uint64_t resident;    // resident part of `given`
  std::uint64_t pages;       // resident, of an allocator that calls mmap itself
  std::uint64_t holes_freed; // not resident, in glibc's heaps, outside live blocks
};

struct RetainedMemory {
  bool known = false;
  bool estimated = false;  // too many bytes came since the allocator was queried
  std::uint64_t free = 0;  // resident
  std::uint64_t given = 0; // resident or not
  std::uint64_t unseen = 0;
  std::uint64_t since = 0; // bytes that came since the allocator was queried
};
RetainedMemory kept_of(const AllocatorAnswer& answer, const OfAllocator& known);

// Resets the state in a forked child.
void forget_retained_memory();

} // namespace memtrace::record
