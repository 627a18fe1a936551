// Purpose: the second pass of a timeline: births and deaths inside the windows, what was alive at chosen
// instants, and the bands of each bin.
#pragma once

#include <functional>
#include <vector>

#include "analyzer/attribute/block_groups.h"
#include "analyzer/timeline/level_bins.h"
#include "analyzer/timeline/stored_blocks.h"

namespace memtrace::replay {

// True if a block with this stack is a workspace. It is asked of large tensors of GPUs, once for each stack.
using WorkspaceTest = std::function<bool(format::StackId)>;

// Returns the bytes of a block that were never touched.
using NeverTouched = std::function<std::uint64_t(const Block&)>;

struct RowsWanted {
  std::vector<Lane> lanes;
  std::vector<RowWindow> windows;
  std::vector<trace::Ordinal> instants; // ascending: further instants whose live set is wanted
  std::vector<trace::Ordinal>
      exact;                  // ascending: instants inside a window at which the rows give the exact levels
  WorkspaceTest is_workspace; // may be empty: then no block is one
  NeverTouched never_touched; // may be empty: then all was touched
};

// `groups` has the labels of the trace, from a pass before. Memory grows with the rows in the windows, and with
// the blocks alive at the instants.
BlockRows block_rows(const trace::Trace& trace, const RowsWanted& wanted, const LevelBins& bins,
                     BlockGroups& groups);

} // namespace memtrace::replay
