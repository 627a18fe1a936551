// Purpose: when shared memory came and went: batches of a loader go by it from workers to their parent.
#pragma once

#include <vector>

#include "analyzer/replay/replay.h"

namespace memtrace::replay {

struct SharedFlow {
  format::Stamp stamp = 0;
  trace::Ordinal at = 0;
  std::uint64_t bytes = 0;
  format::StackId stack{}; // of the block, as is
  PhasePosition born;
};

struct SharedFlows {
  std::vector<SharedFlow> births;
  std::vector<SharedFlow> deaths;
};

// Blocks of kLeast bytes and more, in order. One pass; some bytes for each.
inline constexpr std::uint64_t kLeastShared = 64 << 10;
SharedFlows shared_flows(const trace::Trace& trace);

} // namespace memtrace::replay
