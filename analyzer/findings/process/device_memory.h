// Purpose: what a card holds for nothing: room between blocks, contexts that nobody works in, code never run.
#pragma once

#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// `device-fragmentation`: at the peak of `reserved` a tenth of it, and 64 MiB, lay in segments and in no block,
// and the allocator could have done with 5 % less at any time.
// `device-context`: a context in which nothing was allocated to speak of, beside work on another card or in a
// worker; or code that was loaded and takes 5 % of what the process uses, and 512 MiB.
Findings find_in_devices(ProcessAnalysis& analysis);

} // namespace memtrace::report
