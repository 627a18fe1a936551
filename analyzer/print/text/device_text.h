// Purpose: writes the lines of a report about devices: the memory that each GPU shows, and why CUPTI was not
// active.
#pragma once

#include "analyzer/explain/process_analysis.h"
#include "analyzer/wording/text_lines.h"

namespace memtrace::report {

// Writes one paragraph for each GPU. Its memory outside of all allocations is the rest after all allocations.
void write_devices(ProcessAnalysis& analysis, Lines& lines);

} // namespace memtrace::report
