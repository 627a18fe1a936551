// Purpose: the processes of a job: what each was, how it ended, and what is known of that from elsewhere.
#pragma once

#include <string>
#include <vector>

#include "analyzer/decode/progress.h"
#include "analyzer/job/job_process.h"

namespace memtrace::report {

// Main first, then as they began. A file that cannot be read is talked about, unless it is the only one. What
// others say of an end is read once and kept beside the trace; `brought` are files to add to it.
std::vector<Process> survey(const std::vector<std::string>& files, const std::vector<std::string>& brought,
                            trace::Progress& progress);

} // namespace memtrace::report
