// Purpose: what phases took and gave back before they ended.
#pragma once

#include <string>
#include <vector>

#include "analyzer/explain/process_analysis.h"

namespace memtrace::report {

// Of the phases whose transient is 5 % of the peak or more, the largest first: who was alive at their peak and
// at neither end, for how long, and in which steps. Of the steady steps, where there are any, and of steps with
// more than those. One paragraph each, a few at most.
std::vector<std::string> transients(ProcessAnalysis& analysis, replay::MemoryId memory,
                                    replay::Measure measure);

} // namespace memtrace::report
