// Purpose: the levels of a phase without reservations that were never touched, as the headlines count.
#include "analyzer/explain/allocated_figures.h"

#include <algorithm>

#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::report {

using replay::wrapping_sub;

replay::Figures allocated_figures(const ProcessAnalysis& analysis, const replay::Row& row,
                                  replay::MemoryId memory) {
  replay::Figures out = row.of(memory).live;
  if (memory != 0) return out; // reservations are of the host
  const auto reserved = [&analysis](trace::Ordinal at) {
    return static_cast<std::int64_t>(analysis.reservations.untouched(at));
  };
  const std::int64_t entry = reserved(row.entered), exit = reserved(row.left), peak = reserved(out.peak_at);
  out.entry = wrapping_sub(out.entry, entry);
  out.exit = wrapping_sub(out.exit, exit);
  out.net = wrapping_sub(out.net, wrapping_sub(exit, entry));
  out.peak = std::max({wrapping_sub(out.peak, peak), out.entry, out.exit});
  if (row.count == 1 && (entry != exit || exit != peak))
    out.transient = wrapping_sub(out.peak, std::max(out.entry, out.exit));
  return out;
}

} // namespace memtrace::report
