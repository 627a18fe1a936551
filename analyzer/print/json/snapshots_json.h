// Purpose: writes what was alive at the snapshots of the program as JSON.
#pragma once

#include "analyzer/explain/process_analysis.h"
#include "analyzer/print/json/json_text.h"

namespace memtrace::report {

// Returns an entry for each snapshot and each memory that was used by then.
Json snapshots_json(ProcessAnalysis& analysis, const Options& options);

} // namespace memtrace::report
