// Purpose: finds shared memory that a process left behind.
#pragma once

#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// Returns files that no process holds any more. They stay in memory until they are removed.
Findings find_orphans(ProcessAnalysis& analysis);

} // namespace memtrace::report
