// Purpose: writes the highest points of a run, with the blocks alive at them, as JSON.
#pragma once

#include "analyzer/print/json/site_json.h"

namespace memtrace::report {

// Returns an entry for each memory and measure.
Json peaks_json(ProcessAnalysis& analysis, const Options& options);

} // namespace memtrace::report
