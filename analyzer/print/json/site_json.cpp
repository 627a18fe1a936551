// Purpose: writes a site of the program and a step as JSON.
#include "analyzer/print/json/site_json.h"

#include <utility>

namespace memtrace::report {

Json frame_json(const symbols::SiteFrame& frame) {
  Json out = {{"function", frame.function},
              {"file", frame.file},
              {"line", frame.line},
              {"module", frame.module},
              {"lang", frame.python ? "python" : "native"}};
  if (frame.own) out["own"] = true;
  return out;
}

Json site_json(const symbols::Site& site) {
  Json frames = Json::array();
  for (const symbols::SiteFrame& frame : site.frames) frames.push_back(frame_json(frame));
  return {{"id", site.id}, {"frames", std::move(frames)}};
}

Json site_json(ProcessAnalysis& analysis, format::StackId stack) {
  return stack == format::StackId{} ? Json(nullptr) : site_json(analysis.symbolizer->site(stack));
}

Json step_json(replay::Step step) {
  return step == replay::Step::none ? Json(nullptr) : Json(static_cast<std::int64_t>(step));
}

Json steps_json(const replay::StepSpan& steps) {
  return steps.first == replay::Step::none ? Json(nullptr)
                                           : Json{step_json(steps.first), step_json(steps.last)};
}

} // namespace memtrace::report
