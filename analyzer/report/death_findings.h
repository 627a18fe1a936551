// Room: report. Needs names, so it stands behind symbols.
// Job: what a death proves: who ended the process, what was held twice, what could not be had.
#pragma once

#include <vector>

#include "analyzer/report/finding.h"
#include "analyzer/report/view.h"

namespace memtrace::report {

// Of a view that has a death. The one that says how it ended first.
Findings find_in_death(View& view);

} // namespace memtrace::report
