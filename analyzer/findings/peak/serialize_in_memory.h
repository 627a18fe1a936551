// Purpose: finds data that was serialized to memory instead of a file.
#pragma once

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/peak_candidate.h"

namespace memtrace::report {

// Returns the candidates of `serialize-in-memory`. The peak of the host has bytes that torch.save wrote to a
// buffer, safetensors made a string of, or pickle made of a tensor. The blocks that the same line of the
// program made for it count too. Without all of them the peak is 5 % lower.
PeakCandidates propose_serialized(ProcessAnalysis& analysis);

// Returns `serialize-in-memory` for the serialized bytes that were alive at the death. No replay tests them,
// because the program did not go on.
Findings find_serialized_at_death(ProcessAnalysis& analysis);

} // namespace memtrace::report
