// Purpose: writes `death` of memtrace.postmortem/1.
#pragma once

#include "analyzer/print/json/site_json.h"
#include "analyzer/rss/cgroup_breakdown.h"

namespace memtrace::report {

// Returns null if the process ended normally or still runs. `held` has the largest `top` rows with their sites.
Json death_json(ProcessAnalysis& analysis, std::size_t top);

// Returns one value of the key `ledger`: of a cgroup, or of a family if no cgroup was sampled.
Json ledger_json(const JobLedger& ledger);

} // namespace memtrace::report
