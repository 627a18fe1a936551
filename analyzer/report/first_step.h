// Room: report. Needs names, so it stands behind symbols.
// Job: what only the first step took.
#pragma once

#include <vector>

#include "analyzer/report/finding.h"
#include "analyzer/report/view.h"

namespace memtrace::report {

// `first-step-only`: blocks alive at the peak whose line made some in the first step, up to the first update,
// and in no later one, of which there are two at least; without them the peak is 5 % lower. What training
// itself makes once and keeps is none: parameters, gradients, optimizer states, masters, buffers, a batch; nor
// is what no tensor is and stays, such as a library's workspace.
Findings find_first_step(View& view);

} // namespace memtrace::report
