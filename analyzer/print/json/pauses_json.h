// Purpose: writes the pauses of the program's threads as JSON.
#pragma once

#include "analyzer/explain/process_analysis.h"
#include "analyzer/print/json/json_text.h"

namespace memtrace::report {

// Returns null if no pause is recorded.
Json pauses_json(const ProcessAnalysis& analysis);

} // namespace memtrace::report
