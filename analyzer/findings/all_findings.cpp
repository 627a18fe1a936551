// Purpose: the proven causes of a process's peaks and of its end.
#include "analyzer/findings/all_findings.h"

#include <algorithm>
#include <iterator>

#include "analyzer/findings/common/peak_candidate.h"
#include "analyzer/findings/peak/first_step_only.h"
#include "analyzer/findings/peak/foreach_temporaries.h"
#include "analyzer/findings/peak/loss_logits.h"
#include "analyzer/findings/peak/optimizer_states.h"
#include "analyzer/findings/peak/pinned_memory.h"
#include "analyzer/findings/peak/recompute_peak.h"
#include "analyzer/findings/peak/serialize_in_memory.h"
#include "analyzer/findings/process/deaths.h"
#include "analyzer/findings/process/device_memory.h"
#include "analyzer/findings/process/leak_per_step.h"
#include "analyzer/findings/process/orphan_shm.h"
#include "analyzer/findings/process/resident_memory.h"

namespace memtrace::report {
namespace {

template <class T>
void append(std::vector<T>& out, std::vector<T> more) {
  out.insert(out.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

Findings find_in_peaks(ProcessAnalysis& analysis) {
  PeakCandidates candidates;
  for (const auto propose : {propose_foreach, propose_loss, propose_recompute, propose_first_step,
                             propose_serialized, propose_pinned_rounding})
    append(candidates, propose(analysis));
  Findings out = judge_together(analysis, candidates);
  for (const auto family :
       {find_states, find_pinned_cache, find_leaks, find_in_devices, find_in_resident, find_orphans})
    append(out, family(analysis));
  std::stable_sort(out.begin(), out.end(),
                   [](const Finding& a, const Finding& b) { return a.bytes > b.bytes; });
  return out;
}

} // namespace

Findings find(ProcessAnalysis& analysis) {
  Findings out;
  if (analysis.death) out = find_in_death(analysis);
  append(out, find_in_peaks(analysis));
  return out;
}

replay::MemoryId main_memory(const ProcessAnalysis& analysis, const Findings& findings,
                             const std::optional<std::string>& asked) {
  if (asked) {
    const auto wanted = memory_named(*asked);
    if (wanted && analysis.account.peaks.contains(*wanted)) return *wanted;
  }
  if (!findings.empty() && analysis.account.peaks.contains(findings.front().memory))
    return findings.front().memory;
  replay::MemoryId best = 0;
  for (const auto& [memory, peaks] : analysis.account.peaks) {
    if (peaks.tensor.bytes > analysis.account.peaks.at(best).tensor.bytes) best = memory;
  }
  return best;
}

} // namespace memtrace::report
