// Room: report. Needs names, so it stands behind symbols.
// Job: what a trace proves about the causes of its peaks.
#include "analyzer/report/findings.h"

#include <algorithm>

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

std::vector<Finding> find(View& view) {
  std::vector<Finding> out;
  for (const auto family :
       {find_foreach, find_loss, find_recompute, find_first_step, find_serialized, find_states, find_pinned,
        find_leaks, find_in_devices, find_in_resident, find_orphans}) {
    std::vector<Finding> found = family(view);
    out.insert(out.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Finding& a, const Finding& b) { return a.bytes > b.bytes; });
  return out;
}

} // namespace memtrace::report
