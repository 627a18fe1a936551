// Purpose: pinned host memory that nobody asked for, or that nobody uses any more.
#pragma once

#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// `pinned-rounding`: what PyTorch's pinned allocator took beyond what it was asked for, for it takes powers of
// two; without that the peak of the host is 5 % lower. `pinned-cache-held`: at each of four or more reports of
// that allocator after the first step it held blocks that no tensor was in, 5 % of the peak of the host and 32
// MiB.
Findings find_pinned(ProcessAnalysis& analysis);

} // namespace memtrace::report
