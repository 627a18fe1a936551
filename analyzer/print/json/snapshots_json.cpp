// Purpose: writes what was alive at the snapshots of the program as JSON.
#include "analyzer/print/json/snapshots_json.h"

#include "analyzer/print/json/holdings_json.h"
#include "analyzer/print/json/site_json.h"

namespace memtrace::report {

Json snapshots_json(ProcessAnalysis& analysis, const Options& options) {
  Json out = Json::array();
  for (const replay::MarkedInstant& marked : analysis.account.instants.all()) {
    for (std::size_t i = 0; i < marked.levels.size(); ++i) {
      const auto memory = static_cast<replay::MemoryId>(i);
      const replay::Level& level = marked.levels[i];
      const bool unused = memory != 0 && level.live == 0 && level.tensor == 0;
      if (unused || (options.memory && memory_name(memory) != *options.memory)) continue;
      const replay::Holdings& alive = analysis.set({memory, replay::Measure::live, marked.at});
      out.push_back({{"name", analysis.trace->definitions().text(marked.name)},
                     {"t", analysis.seconds(marked.stamp)},
                     {"memory", memory_name(memory)},
                     {"phase", analysis.account.paths.text(analysis.account.paths.last(marked.path))},
                     {"step", step_json(marked.step)},
                     {"bytes", level.live},
                     {"tensor", level.tensor},
                     {"at", at_peak(analysis, alive, level.live, options.peak_top)}});
    }
  }
  return out;
}

} // namespace memtrace::report
