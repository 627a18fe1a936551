// Purpose: finds logits and the blocks of their size that the loss creates.
#pragma once

#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/peak_candidate.h"
#include "analyzer/passes/peak_without.h"

namespace memtrace::report {

// Returns the sizes that a block of the loss may have. The base is the largest block alive in the set that a
// loss over classes made (log_softmax and its gradient). A block may have as many numbers in another type, and
// one row of a sequence more. Empty if the set has no such block.
std::vector<replay::Sizes> loss_sizes(ProcessAnalysis& analysis, const replay::Holdings& alive);
bool has_one_of(const replay::Holding& holding, const std::vector<replay::Sizes>& sizes);

// Returns the candidates of `loss-logits`. Blocks of these sizes are alive at the peak of tensors. If the loss
// were computed in eight parts, the peak would be 5 % lower.
PeakCandidates propose_loss(ProcessAnalysis& analysis);

} // namespace memtrace::report
