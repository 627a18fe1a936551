// Purpose: the pinned memory that a framework's allocator held without using it.
#pragma once

#include "analyzer/replay/replay.h"

namespace memtrace::replay {

struct PinnedCache {
  std::uint64_t reports = 0; // reports of the allocator, at the ends of phases
  std::uint64_t idle = 0;    // bytes: the least that it held unused, over all reports
  std::uint64_t held = 0;    // bytes that it held at that report
};

// Returns the figures of the reports after step `first`, in one pass.
PinnedCache pinned_cache(const trace::Trace& trace, Step first);

} // namespace memtrace::replay
