// Purpose: tells the jobs apart whose traces lie in one directory.
#pragma once

#include <vector>

#include "analyzer/job/job_process.h"

namespace memtrace::report {

// Sets `job` of each process: equal numbers mean one job. Processes with the same job id are of one job. Jobs
// with different ids are one job if they ran at the same time and ran the same command or have different ranks
// of one world: the tasks of an `srun`, or one torchrun on each of several nodes.
void number_jobs(std::vector<Process>& processes);

// Removes the processes that are not of the first process's job, and warns of each other job in one line.
void leave_out_other_jobs(std::vector<Process>& processes);

} // namespace memtrace::report
