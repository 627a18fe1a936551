// Purpose: finds gradients of the step before that a forward holds.
#pragma once

#include "analyzer/findings/common/peak_candidate.h"

namespace memtrace::report {

// Proposes the finding `gradients-kept-through-forward` for each memory whose peak of tensors lies outside
// backward and update, beside gradients of an earlier step.
PeakCandidates propose_kept_gradients(ProcessAnalysis& analysis);

} // namespace memtrace::report
