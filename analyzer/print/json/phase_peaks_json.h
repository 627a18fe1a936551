// Purpose: writes the highest point of each phase over all steps as JSON.
#pragma once

#include "analyzer/explain/process_analysis.h"
#include "analyzer/print/json/json_text.h"

namespace memtrace::report {

// Returns an entry for each path and memory: `live` and `tensor`, with the steps in which they were the
// highest. The step is null outside of steps, and for a range of steps that has one row. The rows of `phases`
// have only some steps.
Json phase_peaks_json(const ProcessAnalysis& analysis, const Options& options);

} // namespace memtrace::report
