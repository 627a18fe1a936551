// Purpose: finds resident memory that is not used, and allocated memory that is not resident, in the ledgers
// that the process took of itself.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// Returns three kinds of findings. `page-cache-not-memory`: at the highest RSS, at least half of it and 256 MiB
// are pages of files. Workers are excluded, because their parent maps the same file.
// The other two use the ledgers in the second half of the process's life, except the one at the orderly end.
// They must hold at each of at least three ledgers. `allocator-retention`: 40 % of RSS and 128 MiB were free
// and kept by the allocator. `reserved-not-resident`: a quarter of the highest live level and 256 MiB were not
// in memory.
Findings find_in_resident(ProcessAnalysis& analysis);

// The pages of its parent that a forked process has when it had copied most.
struct OfParent {
  std::uint64_t copied = 0; // bytes of pages that it wrote to
  std::uint64_t shared = 0;
  // Of `copied`: before it began to read its data, else at its first ledger; 0 if that has half of it, so it
  // came late.
  std::uint64_t early = 0;
};
std::optional<OfParent> of_parent(const ProcessAnalysis& analysis);

// Returns `copy-on-write-growth` of the workers of one parent, or nullopt. Together they copied at least 128
// MiB and a seventh of the bytes they inherited. An idle worker of PyTorch's loader copies 12 of 320 MiB, for
// reference counts. The finding's bytes are without those that the workers copied when they started.
std::optional<Finding> find_copied(const std::vector<OfParent>& workers);

} // namespace memtrace::report
