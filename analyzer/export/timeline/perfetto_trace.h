// Purpose: writes phases, levels and findings of a job as a trace for Perfetto.
#pragma once

#include "analyzer/calltree/held_blocks.h"
#include "analyzer/export/timeline/perfetto_packets.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// Adds the tracks of one process: phases by thread, steps, a counter for each memory and measure, for each role
// of its leading measure, and instants for peaks, findings and the death. Reads the events five times.
void write_perfetto(ProcessAnalysis& analysis, const Findings& findings, PerfettoPackets& packets);

} // namespace memtrace::report
