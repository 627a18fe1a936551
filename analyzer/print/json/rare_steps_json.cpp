// Purpose: writes the few steps that took much more memory than the others as JSON.
#include "analyzer/print/json/rare_steps_json.h"

#include "analyzer/print/json/site_json.h"

namespace memtrace::report {

Json rare_steps_json(ProcessAnalysis& analysis) {
  Json out = Json::array();
  for (const RareStep& rare : analysis.rare_steps)
    out.push_back({{"steps", steps_json(rare.steps)},
                   {"memory", memory_name(rare.memory)},
                   {"measure", rare.measure == replay::Measure::tensor ? "tensor" : "live"},
                   {"path", analysis.account.paths.texts(rare.path)},
                   {"rise", rare.rise},
                   {"typical_rise", rare.typical},
                   {"largest_block", rare.block != 0 ? Json(rare.block) : Json(nullptr)},
                   {"site", site_json(analysis, rare.stack)}});
  return out;
}

} // namespace memtrace::report
