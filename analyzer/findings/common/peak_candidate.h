// Purpose: blocks that may be the cause of a peak, and the decision about them once the peak without them is
// measured.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"
#include "analyzer/passes/peak_without.h"

namespace memtrace::report {

struct PeakCandidate {
  replay::Excluded excluded; // the blocks to measure the peak without
  // Returns the finding, or nullopt if the measured peak shows that the blocks are not the cause.
  std::function<std::optional<Finding>(const replay::Without&)> judge;
};

using PeakCandidates = std::vector<PeakCandidate>;

// Measures all candidates in one replay of the trace, and returns the findings in their order, each with what
// it saves at the peak. Without candidates it does not replay.
Findings judge_together(const ProcessAnalysis& analysis, const PeakCandidates& candidates);

} // namespace memtrace::report
