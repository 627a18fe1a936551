// Purpose: what a framework's allocator of pinned memory held and nobody used.
#pragma once

#include "analyzer/replay/replay.h"

namespace memtrace::replay {

struct PinnedCache {
  std::uint64_t reports = 0; // that it gave of itself, at the ends of phases
  std::uint64_t idle = 0;    // bytes: the least that it held and nobody used, of all reports
  std::uint64_t held = 0;    // bytes that it held then
};

// After step `first`. One pass.
PinnedCache pinned_cache(const trace::Trace& trace, Step first);

} // namespace memtrace::replay
