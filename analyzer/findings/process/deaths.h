// Purpose: finds what a death proves: the cause, memory held twice, the allocation that failed.
#pragma once

#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// Returns findings of an analysis that has a death. The finding about the cause of the end comes first.
Findings find_in_death(ProcessAnalysis& analysis);

} // namespace memtrace::report
