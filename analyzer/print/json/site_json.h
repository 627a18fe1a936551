// Purpose: writes a site of the program and a step as JSON.
#pragma once

#include "analyzer/explain/process_analysis.h"
#include "analyzer/print/json/json_text.h"

namespace memtrace::report {

Json frame_json(const symbols::SiteFrame& frame);
Json site_json(const symbols::Site& site);
// Returns null if there is no stack.
Json site_json(ProcessAnalysis& analysis, format::StackId stack);
// Returns null if there is no step.
Json step_json(replay::Step step);
// Returns the first and the last step. Returns null if there is no first one.
Json steps_json(const replay::StepSpan& steps);

} // namespace memtrace::report
