// Purpose: what a death proves: who ended the process, what was held twice, what could not be had.
#pragma once

#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// Of an analysis that has a death. The one that says how it ended first.
Findings find_in_death(ProcessAnalysis& analysis);

} // namespace memtrace::report
