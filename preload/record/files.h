// Room: record. When recording begins.
// Job: the files of this process: where they can be, and who says so.
#pragma once

#include "record/node.h"

namespace memtrace::record {

// Makes the trace and the ring file in the best place there is. False, with nothing left behind: not recording,
// which it says.
bool open_files();

// What MEMTRACE_MAX_NODE left for this process.
const Share& share();

// Who creates the job's file says the one line.
void announce();

// The ring file is not beside the trace.
bool rings_are_elsewhere();

} // namespace memtrace::record
