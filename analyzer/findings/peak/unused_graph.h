// Purpose: finds forward passes that keep a graph which no backward uses.
#pragma once

#include "analyzer/findings/common/peak_candidate.h"

namespace memtrace::report {

// Proposes the finding `graph-kept-in-eval` for each memory whose peak of tensors such graphs may raise. It is
// likely only if fewer than three such passes ran in a row, or if the process died.
PeakCandidates propose_unused_graph(ProcessAnalysis& analysis);

} // namespace memtrace::report
