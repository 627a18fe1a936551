// Purpose: logits, and what the loss makes of their size.
#pragma once

#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"
#include "analyzer/passes/peak_without.h"

namespace memtrace::report {

// What one block of the loss may have: as many numbers as the largest that a loss over classes made
// (log_softmax and its gradient) and that is alive in a set, in that type or another; with one row of a
// sequence more. Empty: there is none.
std::vector<replay::Sizes> loss_sizes(ProcessAnalysis& analysis, const replay::Holdings& alive);
bool has_one_of(const replay::Holding& holding, const std::vector<replay::Sizes>& sizes);

// `loss-logits`: blocks of that size are alive at the peak of tensors, and were the loss taken in eighths, it
// would be 5 % lower.
Findings find_loss(ProcessAnalysis& analysis);

} // namespace memtrace::report
