// Purpose: writes a line for each snapshot of the program.
#pragma once

#include "analyzer/explain/process_analysis.h"
#include "analyzer/wording/text_lines.h"

namespace memtrace::report {

// Writes the snapshots of this memory: all of them, or the first eight.
void write_snapshots(ProcessAnalysis& analysis, replay::MemoryId memory, bool all, Lines& lines);

} // namespace memtrace::report
