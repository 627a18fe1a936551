// Room: report.
// Job: the segments of a device's allocator, as people read them.
#pragma once

#include "analyzer/report/lines.h"
#include "analyzer/report/view.h"

namespace memtrace::report {

void write_segments(View& view, Lines& lines);

} // namespace memtrace::report
