// Room: report. Needs names, so it stands behind symbols.
// Job: shared memory that a process left behind.
#pragma once

#include <vector>

#include "analyzer/evidence/orphans.h"
#include "analyzer/report/view.h"

namespace memtrace::report {

// A process as one that may have left files in /dev/shm: when it lived, and, by a pass over its trace, what
// shared memory it mapped.
evidence::Maker lifetime_of(const trace::Facts& facts);
evidence::Maker maker_of(const trace::Trace& trace);

// What nobody holds any more and stays in memory until somebody removes it.
std::vector<Finding> find_orphans(View& view);

} // namespace memtrace::report
