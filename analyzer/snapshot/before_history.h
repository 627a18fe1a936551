// Purpose: what a device held before the first event of its history, and how large the blocks of the history
// are that were alive at the snapshot.
#pragma once

#include <vector>

#include "analyzer/snapshot/page_ranges.h"
#include "analyzer/snapshot/torch_snapshot.h"

namespace memtrace::snapshot {

struct BeforeHistory {
  std::vector<TorchBlock> blocks;     // sorted by address; bytes 0: only the requested bytes are known
  std::vector<TorchSegment> segments; // sorted by address
  PageRanges pages;
  std::vector<std::uint64_t> sizes; // for each event: bytes of the block that it allocated; 0: not known
};

// Goes from the state at the snapshot back to the first event.
BeforeHistory before_history(const SnapshotAllocator& device);

} // namespace memtrace::snapshot
