// Purpose: finds pinned host memory that was not requested, or that is not used any more.
#pragma once

#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// Returns two findings. `pinned-rounding`: PyTorch's pinned allocator rounds up to powers of two; without these
// extra bytes the peak of the host is 5 % lower.
// `pinned-cache-held`: after the first step the allocator made at least four reports. At each, it held blocks
// without a tensor, at least 5 % of the peak of the host and 32 MiB.
Findings find_pinned(ProcessAnalysis& analysis);

} // namespace memtrace::report
