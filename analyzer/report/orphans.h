// Room: report. Needs names, so it stands behind symbols.
// Job: shared memory that a process left behind.
#pragma once

#include <vector>

#include "analyzer/report/finding.h"
#include "analyzer/report/view.h"

namespace memtrace::report {

// What nobody holds any more and stays in memory until somebody removes it.
Findings find_orphans(View& view);

} // namespace memtrace::report
