// Purpose: writes ledgers as JSON: of a process, its cgroup and machine, its GPUs and its family.
#pragma once

#include "analyzer/print/json/site_json.h"
#include "analyzer/rss/job_pss.h"

namespace memtrace::report {

Json ledgers_json(const ProcessAnalysis& analysis, const Options& options);
// Returns the limits, and how much of each the program needed, used and never used.
Json headroom_json(const ProcessAnalysis& analysis, const Options& options);
Json family_json(const Family& family);

} // namespace memtrace::report
