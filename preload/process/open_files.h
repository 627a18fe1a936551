// Purpose: the files of this process: where they can be, and who says so.
// Runs: when recording begins.
#pragma once

#include "preload/job/job_attempt.h"

namespace memtrace::record {

// Makes the trace and the ring file in the best place there is. False, with nothing left behind: not recording,
// which it says.
bool open_files();

// Which attempt of the job it belongs to.
const Attempt& attempt();

// Who opens an attempt says the one line, and what became of the attempt before.
void announce();

// The ring file is not beside the trace.
bool rings_are_elsewhere();

} // namespace memtrace::record
