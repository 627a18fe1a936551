// Purpose: finds allocations that failed and that the program survived.
#pragma once

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// Returns `allocation-retried`, one finding for each memory: allocations that failed for lack of memory, after
// which the program went on. PyTorch empties its cache and tries again; a program may catch the error.
// Reservations of addresses, and mappings of huge pages, which programs try first and do without, do not count.
Findings find_survived(const ProcessAnalysis& analysis);

} // namespace memtrace::report
