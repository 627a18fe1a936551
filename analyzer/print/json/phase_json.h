// Purpose: writes the rows of `phases`, each a phase in a step or in a range of steps, as JSON.
#pragma once

#include <functional>

#include "analyzer/print/json/site_json.h"

namespace memtrace::report {

// Passes the row of each shown phase to `take`, for each memory. The rows of typical steps come last.
void each_phase(ProcessAnalysis& analysis, const Options& options,
                const std::function<void(const Json&)>& take);

} // namespace memtrace::report
