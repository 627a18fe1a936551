// Purpose: writes the limits at a death, the memory pressure, and the process of the job that held most.
#pragma once

#include <string>
#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/rss/cgroup_breakdown.h"
#include "analyzer/wording/text_lines.h"

namespace memtrace::report {

// Returns the time between a sampled figure and the explained instant: "0.4 s before the last record".
std::string when_sampled(const Death& death, format::Stamp stamp);

// Writes the limit that the death met, with its last samples, the limits that it did not meet, and the memory
// pressure.
void write_death_limits(const ProcessAnalysis& analysis, Lines& lines);

// Names the process of the job on this host that held most then, if it is another one. The kernel or a manager
// may choose a small one.
void write_largest_of_job(const ProcessAnalysis& analysis, const std::vector<JobPeer>& others, Lines& lines);

} // namespace memtrace::report
