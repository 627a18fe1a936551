// Room: report.
// Job: `death` of memtrace.postmortem/1.
#pragma once

#include "analyzer/report/job_ledger.h"
#include "analyzer/report/site_json.h"

namespace memtrace::report {

// Null for a process that ended as programs end, or goes on. Of `held` the largest `top` with their sites.
Json death_json(View& view, std::size_t top);

// Of the contract's ledger: of a cgroup, or of a family where no cgroup was sampled.
Json ledger_json(const JobLedger& ledger);

} // namespace memtrace::report
