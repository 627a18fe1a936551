// Purpose: writes the few steps that took much more memory than the others as JSON.
#pragma once

#include "analyzer/explain/process_analysis.h"
#include "analyzer/print/json/json_text.h"

namespace memtrace::report {

Json rare_steps_json(ProcessAnalysis& analysis);

} // namespace memtrace::report
