// Purpose: a place in the program, and a step, as JSON.
#pragma once

#include "analyzer/explain/process_analysis.h"
#include "analyzer/print/json/json_text.h"

namespace memtrace::report {

Json site_json(const symbols::Site& site);
// Null for no stack.
Json site_json(ProcessAnalysis& analysis, format::StackId stack);
// Null for none.
Json step_json(replay::Step step);

} // namespace memtrace::report
