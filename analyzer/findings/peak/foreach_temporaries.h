// Purpose: finds the lists of temporaries that torch.optim's foreach path creates.
#pragma once

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/peak_candidate.h"

namespace memtrace::report {

// Returns the candidates of `foreach-temporaries`. The peak of tensors is in an optimizer's step, and a list of
// temporaries of one foreach call is alive then. Without the list, the peak is 5 % lower.
PeakCandidates propose_foreach(ProcessAnalysis& analysis);

} // namespace memtrace::report
