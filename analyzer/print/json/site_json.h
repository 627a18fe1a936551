// Purpose: a place in the program, and a step, as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "analyzer/explain/process_analysis.h"

namespace memtrace::report {

using Json = nlohmann::ordered_json;

Json site_json(const symbols::Site& site);
// Null for no stack.
Json site_json(ProcessAnalysis& analysis, format::StackId stack);
// Null for none.
Json step_json(replay::Step step);

} // namespace memtrace::report
