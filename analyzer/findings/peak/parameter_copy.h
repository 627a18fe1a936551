// Purpose: finds a copy of the parameters that stays after it was loaded.
#pragma once

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/peak_candidate.h"

namespace memtrace::report {

// Returns the candidates of `parameter-copy`. At the peak of tensors, one line of the program holds a state
// dict as large as the parameters, and a step has begun since. Without it, the peak is 5 % lower. A second copy
// of the model that the program goes on to use, such as a moving average, is not a candidate.
PeakCandidates propose_parameter_copy(ProcessAnalysis& analysis);

// Returns `parameter-copy` of the host if the parameters are on GPUs and one line holds a state dict as large
// as them. It must hold it at the host's peak in a later step than that in which it was read, or in the last
// step. A copy of the model on the host may be in use, such as a moving average, so it is not a finding.
Findings find_host_copy(ProcessAnalysis& analysis);

} // namespace memtrace::report
