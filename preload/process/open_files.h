// Purpose: creates the files of this process: where they can be, and which process prints it.
// Runs: when recording begins.
#pragma once

#include "preload/job/job_attempt.h"

namespace memtrace::record {

// Creates the trace and the ring file in the best directory that works. If none works, returns false, leaves no
// files, and prints that the process does not record.
bool open_files();

// Returns the attempt of the job that this process belongs to.
const Attempt& attempt();

// If this process opens an attempt, prints one line about it and about the end of the attempt before.
void announce();

// True if the ring file is not in the directory of the trace.
bool rings_are_elsewhere();

} // namespace memtrace::record
