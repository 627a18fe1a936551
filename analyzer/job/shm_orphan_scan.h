// Purpose: which files in /dev/shm the processes of a job left behind.
#pragma once

#include <vector>

#include "analyzer/decode/progress.h"
#include "analyzer/job/job_process.h"

namespace memtrace::report {

// Told to their ends. Looked for once, when no process of the job is there that may still open or remove them,
// and kept beside the traces; where a process can have left nothing, nothing is kept.
void find_left_behind(std::vector<Process>& processes, trace::Progress& progress);

} // namespace memtrace::report
