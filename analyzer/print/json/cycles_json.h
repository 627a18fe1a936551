// Purpose: writes the cycles that memtrace guessed as JSON.
#pragma once

#include "analyzer/explain/process_analysis.h"
#include "analyzer/print/json/json_text.h"

namespace memtrace::report {

// Returns null if the process marks phases or steps, or does not repeat itself.
Json cycles_json(ProcessAnalysis& analysis);

} // namespace memtrace::report
