// Purpose: surveys the processes of a job: the role of each, its end, and outside evidence about its end.
#pragma once

#include <string>
#include <vector>

#include "analyzer/decode/progress.h"
#include "analyzer/job/job_process.h"

namespace memtrace::report {

// Returns the processes of one job, the one that a report leads with first (process_order.h). Warns of other
// jobs among the files, and leaves them out. Their traces stay open,
// within bounds, so that the command need not read them again. Warns of a file that cannot be read, unless it
// is the only one. Queries outside evidence about an end once and saves it beside the trace. `brought`:
// evidence files to add.
std::vector<Process> survey(const std::vector<std::string>& files, const std::vector<std::string>& brought,
                            trace::Progress& progress);

} // namespace memtrace::report
