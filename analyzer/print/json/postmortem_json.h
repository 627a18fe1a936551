// Purpose: `death` of memtrace.postmortem/1.
#pragma once

#include "analyzer/print/json/site_json.h"
#include "analyzer/rss/cgroup_breakdown.h"

namespace memtrace::report {

// Null for a process that ended as programs end, or goes on. Of `held` the largest `top` with their sites.
Json death_json(ProcessAnalysis& analysis, std::size_t top);

// Of the contract's ledger: of a cgroup, or of a family where no cgroup was sampled.
Json ledger_json(const JobLedger& ledger);

} // namespace memtrace::report
