// Purpose: describes the memory that phases allocated and freed before they ended.
#pragma once

#include <string>
#include <vector>

#include "analyzer/explain/process_analysis.h"

namespace memtrace::report {

// Returns one paragraph for each of the few phases with the largest transients, of 5 % of the peak or more. It
// names the blocks alive at the phase's peak but at neither end, their lifetime and their steps. If there are
// steady steps, they come in, and other steps only if they exceed these.
std::vector<std::string> transients(ProcessAnalysis& analysis, replay::MemoryId memory,
                                    replay::Measure measure);

} // namespace memtrace::report
