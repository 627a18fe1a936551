// Purpose: finds the activations that checkpointing recomputes at the peak.
#pragma once

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/peak_candidate.h"

namespace memtrace::report {

// Returns the candidates of `recompute-peak`. Recomputed activations are alive at the peak of tensors, and with
// segments half as long the peak would be 5 % lower. The saving is half of the recomputed bytes, less the
// inputs of the additional segments. All bytes that forward left, without logits, are the estimate of these
// inputs.
PeakCandidates propose_recompute(ProcessAnalysis& analysis);

} // namespace memtrace::report
