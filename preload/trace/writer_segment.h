// Purpose: the segment that names the version of memtrace in the trace file.
// Runs: when recording begins.
#pragma once

namespace memtrace::record {

// Appends the segment to the trace file. If that fails, the trace does not name its writer, and nothing else
// changes.
void write_writer_segment();

} // namespace memtrace::record
