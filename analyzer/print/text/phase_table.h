// Purpose: writes the table of phases and steps, with their levels.
#pragma once

#include "analyzer/print/text/report_view.h"
#include "analyzer/wording/text_lines.h"

namespace memtrace::report {

// Writes the rows that were selected. Without `all_steps`, the typical step represents step 1 and the last
// step.
void write_phases(const ReportView& view, bool all_steps, Lines& lines);

} // namespace memtrace::report
