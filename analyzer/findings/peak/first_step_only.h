// Purpose: finds memory that only the first step needed.
#pragma once

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/peak_candidate.h"

namespace memtrace::report {

// Returns the candidates of `first-step-only`. Its blocks are alive at the peak, and without them the peak is 5
// % lower. Their line made blocks in the first step, up to the first update, but not in a later step. There are
// at least two later steps. Excluded is what training makes once and keeps: parameters, gradients, optimizer
// states, masters, buffers, a batch. Also excluded are blocks that stay and are not tensors, such as a
// library's workspace.
PeakCandidates propose_first_step(ProcessAnalysis& analysis);

} // namespace memtrace::report
