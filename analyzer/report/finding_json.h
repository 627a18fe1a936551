// Room: report.
// Job: a finding as JSON.
#pragma once

#include "analyzer/report/finding.h"
#include "analyzer/report/site_json.h"

namespace memtrace::report {

Json finding_json(const Finding& finding, Json site);

} // namespace memtrace::report
