// Purpose: finds pinned host memory that was not requested, or that is not used any more.
#pragma once

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/peak_candidate.h"

namespace memtrace::report {

// Returns the candidate of `pinned-rounding`. PyTorch's pinned allocator rounds up to powers of two; without
// these extra bytes the peak of the host is 5 % lower.
PeakCandidates propose_pinned_rounding(ProcessAnalysis& analysis);

// Returns `pinned-cache-held`. After the first step the allocator made at least four reports. At each, it held
// blocks without a tensor, at least 5 % of the peak of the host and 32 MiB.
Findings find_pinned_cache(ProcessAnalysis& analysis);

} // namespace memtrace::report
