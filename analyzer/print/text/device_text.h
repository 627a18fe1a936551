// Purpose: the lines of a report about devices: what each GPU shows, and what CUPTI could not see.
#pragma once

#include "analyzer/explain/process_analysis.h"
#include "analyzer/wording/text_lines.h"

namespace memtrace::report {

// The part of a GPU's memory that no allocation accounts for is what is left after all others.
void write_devices(ProcessAnalysis& analysis, Lines& lines);

} // namespace memtrace::report
