// Purpose: finds training that is slow because the kernel drops pages and reads them again.
#pragma once

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// Returns `starved-for-memory`, or nothing. In the steps of training, else in the run, the process's cgroup
// read again what the kernel had dropped. It was at least 64 MiB, and 4 MiB per second. Besides, tasks waited
// for memory for at least 5 % of that time, by the kernel's PSI. Or the process had at least 500 major faults
// per second. An eighth of the cgroup's major faults must be of the process. Reads the events once more if the
// bytes suffice.
Findings find_starved(const ProcessAnalysis& analysis);

} // namespace memtrace::report
