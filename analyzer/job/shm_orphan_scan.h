// Purpose: finds the files in /dev/shm that the processes of a job left behind.
#pragma once

#include <vector>

#include "analyzer/decode/progress.h"
#include "analyzer/job/job_process.h"

namespace memtrace::report {

// Sets `end.left` of each process. Scans once, when no process of the job can still open or remove the files,
// and saves the result beside the traces. Saves nothing if a process cannot have left a file.
void find_left_behind(std::vector<Process>& processes, trace::Progress& progress);

} // namespace memtrace::report
