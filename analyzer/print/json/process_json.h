// Purpose: writes what a report has of one process as JSON, with the keys of memtrace.report/1.
#pragma once

#include "analyzer/findings/common/finding.h"
#include "analyzer/print/json/site_json.h"

namespace memtrace::report {

// A process is written in three parts: the keys before its `phases`, each phase (phase_json.h), and the keys
// after. The phases of all steps may be a hundred times larger than the rest.
Json process_before_phases(const ProcessAnalysis& analysis);
Json process_after_phases(ProcessAnalysis& analysis, const Findings& found, const Options& options);

} // namespace memtrace::report
