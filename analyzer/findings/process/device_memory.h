// Purpose: finds unused memory that a GPU holds: gaps between blocks, idle contexts, code that is not run.
#pragma once

#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// Returns two kinds of findings. `device-fragmentation`: at the peak of `reserved`, a tenth of it and 64 MiB
// were in segments but not in blocks. The blocks never needed more than 95 % of that peak.
// `device-context`: a context with hardly any allocations, while the process works on another GPU or is a
// worker. Also loaded code that takes 5 % of the process's use and 512 MiB.
Findings find_in_devices(ProcessAnalysis& analysis);

} // namespace memtrace::report
