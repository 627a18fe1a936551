// Room: report. Needs names, so it stands behind symbols.
// Job: what a trace proves about the causes of its peaks.
#pragma once

#include <vector>

#include "analyzer/report/view.h"

namespace memtrace::report {

// Largest first. A finding whose remedy does not lower the peak is none.
std::vector<Finding> find(View& view);

} // namespace memtrace::report
