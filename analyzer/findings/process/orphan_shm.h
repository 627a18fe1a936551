// Purpose: shared memory that a process left behind.
#pragma once

#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// What nobody holds any more and stays in memory until somebody removes it.
Findings find_orphans(ProcessAnalysis& analysis);

} // namespace memtrace::report
