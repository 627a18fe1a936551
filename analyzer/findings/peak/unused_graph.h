// Purpose: finds forward passes that keep a graph which no backward uses.
#pragma once

#include "analyzer/findings/common/peak_candidate.h"

namespace memtrace::report {

// Proposes the finding `graph-kept-in-eval` for each memory whose peak of tensors such graphs may raise. It is
// likely only if fewer than three such passes ran in a row, or if the process died. It takes in those of
// `leaks` (see find_leaks) that have blocks of these graphs: one cause, with one saving.
PeakCandidates propose_unused_graph(ProcessAnalysis& analysis, const Findings& leaks);

} // namespace memtrace::report
