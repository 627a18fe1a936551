// Purpose: writes the cycles that memtrace guessed as JSON.
#include "analyzer/print/json/cycles_json.h"

#include "analyzer/print/json/site_json.h"
#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::report {

Json cycles_json(ProcessAnalysis& analysis) {
  if (!analysis.cycles) return nullptr;
  const replay::Cycles& cycles = *analysis.cycles;
  const replay::Cycle& first = cycles.each.front();
  const replay::TypicalCycle typical = replay::typical_cycle(cycles);
  return {{"found", "from the pattern of allocations"},
          {"memory", "host"},
          {"count", cycles.each.size()},
          {"from", analysis.seconds(first.stamp)},
          {"until", analysis.seconds(cycles.ended)},
          {"period", static_cast<double>(typical.duration) / 1e9},
          {"first",
           {{"entry_live", first.entry},
            {"transient", replay::wrapping_sub(first.peak, first.entry)},
            {"net", replay::net_of(cycles, 0)},
            {"allocated", first.allocated}}},
          {"typical",
           {{"entry_live", typical.entry},
            {"transient", typical.transient},
            {"net", typical.net},
            {"allocated", typical.allocated}}},
          {"site", site_json(analysis, cycles.anchor)}};
}

} // namespace memtrace::report
