// Purpose: measures the peaks without the blocks of all candidates in one replay of the trace.
#include "analyzer/findings/common/peak_candidate.h"

#include <utility>

namespace memtrace::report {

Findings judge_together(const ProcessAnalysis& analysis, const PeakCandidates& candidates) {
  std::vector<replay::Excluded> each;
  each.reserve(candidates.size());
  for (const PeakCandidate& candidate : candidates) each.push_back(candidate.excluded);
  const std::vector<replay::Without> measured = replay::peaks_without(*analysis.trace, each);
  Findings out;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (auto finding = candidates[i].judge(measured[i])) out.push_back(*std::move(finding));
  return out;
}

} // namespace memtrace::report
