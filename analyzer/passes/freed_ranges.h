// Purpose: heap memory that was freed and not used again until an instant, and which blocks came later.
#pragma once

#include <map>

#include "analyzer/replay/replay.h"

namespace memtrace::replay {

// Blocks below the size that is recorded one by one are not seen: a part of a range may hold small blocks.
struct FreedRanges {
  std::uint64_t bytes = 0;                         // of all ranges at `until`
  std::uint64_t whole_pages = 0;                   // of these, the bytes of pages that are free as a whole
  std::map<format::StackId, std::uint64_t> stacks; // bytes by the block that was there last
  std::uint64_t of_idle_threads = 0;               // bytes of threads that made no block from `half` on

  // Blocks that were born from `half` to `until` outside of all freed ranges.
  std::uint64_t later_bytes = 0;
  std::uint64_t later_mapped = 0; // of these, bytes of blocks that glibc mapped one by one
  std::uint64_t later_unfitted =
      0; // bytes of blocks for which four fifths of the free bytes were in too short ranges
};

// Reads the events once. Its memory grows with the number of live blocks and of free ranges between them.
// Blocks that glibc maps one by one leave no range, because their pages go back to the kernel.
FreedRanges freed_ranges(const trace::Trace& trace, format::Stamp half, format::Stamp until);

} // namespace memtrace::replay
