// Purpose: tells the processes that a launcher ended because another one had failed from the one that failed.
#pragma once

#include <vector>

#include "analyzer/job/job_process.h"

namespace memtrace::report {

// Sets `killed_by_manager` for each rank of torchrun that ended by SIGTERM at most 40 s after another process
// of the same launcher had failed. It is likely only: no source states who sent the signal.
void find_launcher_kills(std::vector<Process>& processes);

} // namespace memtrace::report
