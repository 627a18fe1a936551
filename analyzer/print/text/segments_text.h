// Purpose: writes the segments of a device's allocator as text.
#pragma once

#include "analyzer/explain/process_analysis.h"
#include "analyzer/wording/text_lines.h"

namespace memtrace::report {

void write_segments(ProcessAnalysis& analysis, Lines& lines);

} // namespace memtrace::report
