// Room: report. Needs names, so it stands behind symbols.
// Job: what a trace proves about the causes of a process's peaks and of its end.
#include "analyzer/report/findings.h"

#include <algorithm>
#include <iterator>

#include "analyzer/report/death_findings.h"
#include "analyzer/report/device_findings.h"
#include "analyzer/report/first_step.h"
#include "analyzer/report/foreach.h"
#include "analyzer/report/leaks.h"
#include "analyzer/report/loss.h"
#include "analyzer/report/orphans.h"
#include "analyzer/report/pinned.h"
#include "analyzer/report/recompute.h"
#include "analyzer/report/resident.h"
#include "analyzer/report/serialize.h"
#include "analyzer/report/states.h"

namespace memtrace::report {
namespace {

Findings find_in_peaks(View& view) {
  Findings out;
  for (const auto family :
       {find_foreach, find_loss, find_recompute, find_first_step, find_serialized, find_states, find_pinned,
        find_leaks, find_in_devices, find_in_resident, find_orphans}) {
    Findings found = family(view);
    out.insert(out.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Finding& a, const Finding& b) { return a.bytes > b.bytes; });
  return out;
}

} // namespace

Findings find(View& view) {
  Findings out;
  if (view.death) out = find_in_death(view);
  Findings peaks = find_in_peaks(view);
  out.insert(out.end(), std::make_move_iterator(peaks.begin()), std::make_move_iterator(peaks.end()));
  return out;
}

fold::MemoryId main_memory(const View& view, const Findings& findings,
                           const std::optional<std::string>& asked) {
  if (asked) {
    const auto wanted = memory_named(*asked);
    if (wanted && view.account.peaks.contains(*wanted)) return *wanted;
  }
  if (!findings.empty() && view.account.peaks.contains(findings.front().memory)) return findings.front().memory;
  fold::MemoryId best = 0;
  for (const auto& [memory, peaks] : view.account.peaks) {
    if (peaks.tensor.bytes > view.account.peaks.at(best).tensor.bytes) best = memory;
  }
  return best;
}

} // namespace memtrace::report
