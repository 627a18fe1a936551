// Purpose: writes the last lines of a report: events, losses, and limits of the recording.
#pragma once

#include "analyzer/explain/process_analysis.h"
#include "analyzer/wording/text_lines.h"

namespace memtrace::report {

void write_losses(ProcessAnalysis& analysis, Lines& lines);

} // namespace memtrace::report
