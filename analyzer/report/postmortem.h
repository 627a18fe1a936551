// Room: report.
// Job: for people: how a process ended, who held memory then, and what would have fit.
#pragma once

#include <string>
#include <vector>

#include "analyzer/report/job_ledger.h"
#include "analyzer/report/text.h"

namespace memtrace::report {

std::string postmortem_text(View& view, const Findings& findings, const std::vector<Other>& others,
                            const Look& look);

} // namespace memtrace::report
