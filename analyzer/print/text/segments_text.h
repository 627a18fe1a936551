// Purpose: the segments of a device's allocator, as people read them.
#pragma once

#include "analyzer/explain/process_analysis.h"
#include "analyzer/wording/text_lines.h"

namespace memtrace::report {

void write_segments(View& view, Lines& lines);

} // namespace memtrace::report
