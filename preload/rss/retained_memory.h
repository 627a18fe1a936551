// Purpose: an allocator's answer, and the pages that are there -> what of its free memory is in RSS, and what
// it has in use that came to no hook.
// Runs: on the background thread.
#pragma once

#include <cstdint>

#include "preload/rss/ledger_handshake.h"

namespace memtrace::record {

// What is known without asking. Bytes.
struct OfAllocator {
  std::uint64_t total;       // RSS
  std::uint64_t given;       // of its blocks that are alive, one by one or counted
  std::uint64_t resident;    // of these
  std::uint64_t pages;       // there, of an allocator that maps for itself
  std::uint64_t holes_freed; // not there, of glibc's heaps, in no block that is alive
};

struct RetainedMemory {
  bool known = false;
  bool estimated = false;  // more came since it was asked than an answer serves for
  std::uint64_t free = 0;  // in memory
  std::uint64_t given = 0; // whether in memory or not
  std::uint64_t unseen = 0;
  std::uint64_t since = 0; // bytes that came since it was asked
};
RetainedMemory kept_of(const AllocatorAnswer& answer, const OfAllocator& known);

// In a forked child.
void forget_retained_memory();

} // namespace memtrace::record
