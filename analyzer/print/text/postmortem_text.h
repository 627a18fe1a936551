// Purpose: writes as text how a process ended, what held memory then, and what would have fit.
#pragma once

#include <string>
#include <vector>

#include "analyzer/print/text/report_text.h"
#include "analyzer/rss/cgroup_breakdown.h"

namespace memtrace::report {

std::string postmortem_text(ProcessAnalysis& analysis, const Findings& findings,
                            const std::vector<JobPeer>& others, const TextStyle& style);

} // namespace memtrace::report
