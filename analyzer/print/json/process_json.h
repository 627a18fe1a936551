// Purpose: writes the parts of a report as JSON, with the keys of memtrace.report/1.
#pragma once

#include <functional>

#include "analyzer/findings/common/finding.h"
#include "analyzer/print/json/site_json.h"

namespace memtrace::report {

// A process in three parts: the keys before its `phases`, each phase, and the keys after. The phases of all
// steps may be a hundred times larger than the rest.
Json process_before_phases(const ProcessAnalysis& analysis);
void each_phase(ProcessAnalysis& analysis, const Options& options,
                const std::function<void(const Json&)>& take);
Json process_after_phases(ProcessAnalysis& analysis, const Findings& found, const Options& options);

} // namespace memtrace::report
