// Purpose: measures the peaks without the blocks of all candidates in one replay of the trace.
#include "analyzer/findings/common/peak_candidate.h"

#include <utility>

#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::report {

Findings judge_together(const ProcessAnalysis& analysis, const PeakCandidates& candidates) {
  std::vector<replay::Excluded> each;
  each.reserve(candidates.size());
  for (const PeakCandidate& candidate : candidates) each.push_back(candidate.excluded);
  const std::vector<replay::Without> measured = replay::peaks_without(*analysis.trace, each);
  Findings out;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    auto finding = candidates[i].judge(measured[i]);
    if (!finding) continue;
    const replay::Measure measure = each[i].measure;
    const replay::MemoryPeaks& peaks = analysis.account.peaks.at(finding->memory);
    const replay::Peak& peak = measure == replay::Measure::tensor ? peaks.tensor : peaks.live;
    if (!finding->saving && !peak.bucket && analysis.buckets.rows.empty())
      finding->saving = PeakSaving{measure, replay::wrapping_sub(peak.bytes, measured[i].peak)};
    out.push_back(*std::move(finding));
  }
  return out;
}

} // namespace memtrace::report
