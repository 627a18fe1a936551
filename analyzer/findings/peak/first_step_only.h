// Purpose: what only the first step took.
#pragma once

#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// `first-step-only`: blocks alive at the peak whose line made some in the first step, up to the first update,
// and in no later one, of which there are two at least; without them the peak is 5 % lower. What training
// itself makes once and keeps is none: parameters, gradients, optimizer states, masters, buffers, a batch; nor
// is what no tensor is and stays, such as a library's workspace.
Findings find_first_step(ProcessAnalysis& analysis);

} // namespace memtrace::report
