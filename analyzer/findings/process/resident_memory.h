// Purpose: what resident memory is that is not used, and what is used that is not resident: by the ledgers that
// the process took of itself.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// `page-cache-not-memory`: half of RSS at its highest or more, and 256 MiB, are pages of files. Not of
// workers, whose parent has the same file. In the second half of its life, at three ledgers at least and at
// each of them: `allocator-retention`, 40 % of RSS and 128 MiB were free and kept by the allocator;
// `reserved-not-resident`, a quarter of the most that was ever alive, and 256 MiB, was not in memory. (The
// ledger at the orderly end does not count.)
Findings find_in_resident(ProcessAnalysis& analysis);

// What a forked process has of its parent's pages, by its highest ledger. None: it was not forked.
struct OfParent {
  std::uint64_t copied = 0; // it wrote to them
  std::uint64_t shared = 0;
};
std::optional<OfParent> of_parent(const ProcessAnalysis& analysis);

// `copy-on-write-growth` of the workers of one parent: together they copied 128 MiB or more, and one part in
// seven of what they were given. (A worker of PyTorch's loader that does nothing copies 12 of 320 MiB: counts
// of references.)
std::optional<Finding> find_copied(const std::vector<OfParent>& workers);

} // namespace memtrace::report
