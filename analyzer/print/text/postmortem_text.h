// Purpose: for people: how a process ended, who held memory then, and what would have fit.
#pragma once

#include <string>
#include <vector>

#include "analyzer/print/text/report_text.h"
#include "analyzer/rss/cgroup_breakdown.h"

namespace memtrace::report {

std::string postmortem_text(View& view, const Findings& findings, const std::vector<Other>& others,
                            const Look& look);

} // namespace memtrace::report
