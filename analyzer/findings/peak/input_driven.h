// Purpose: finds peaks of steps that follow the size of the step's batch.
#pragma once

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// Returns `input-driven-peak` for each memory whose peak is that of a large batch, if smaller batches would
// lower it. The saving is measured: it compares with the steps of smaller batches.
Findings find_input_driven(ProcessAnalysis& analysis);

} // namespace memtrace::report
