// Purpose: the timeline of one process: the whole run in bins, and its most important parts block by block.
#pragma once

#include <vector>

#include "analyzer/timeline/block_rows.h"
#include "analyzer/timeline/outline.h"

namespace memtrace::replay {

struct TimelineRequest {
  std::vector<Lane> lanes; // the first one leads: the instants between the windows are its peaks
  std::vector<Interest> interests;
  std::vector<trace::Ordinal> instants; // events whose time the caller wants
  Step last_step = Step::none;          // of the trace
  std::size_t most_bins = 8192;
  std::uint64_t most_rows = 1'000'000;
  WorkspaceTest is_workspace;
  NeverTouched never_touched;
};

struct Timeline {
  std::vector<Lane> lanes;
  Outline outline;
  BlockRows rows;
};

// Reads the events twice. Memory grows with the blocks that are alive, the bins and the rows.
Timeline make_timeline(const trace::Trace& trace, const TimelineRequest& request);

} // namespace memtrace::replay
