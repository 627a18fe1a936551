// Purpose: when shared memory was allocated and freed. Workers of a loader pass batches to their parent in it.
#pragma once

#include <vector>

#include "analyzer/replay/replay.h"

namespace memtrace::replay {

struct SharedFlow {
  format::Stamp stamp = 0;
  trace::Ordinal at = 0;
  std::uint64_t bytes = 0;
  format::StackId stack{}; // of the block: the stack of its birth, also for a death
  PhasePosition born;
};

struct SharedFlows {
  std::vector<SharedFlow> births;
  std::vector<SharedFlow> deaths;
};

// Returns the births and deaths of shared blocks of at least kLeastShared bytes, in order, after one pass. Its
// memory grows with the number of such blocks.
inline constexpr std::uint64_t kLeastShared = 64 << 10;
SharedFlows shared_flows(const trace::Trace& trace);

} // namespace memtrace::replay
