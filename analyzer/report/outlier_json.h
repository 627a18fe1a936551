// Room: report.
// Job: the rank that holds more than the others, as JSON.
#pragma once

#include "analyzer/report/ranks.h"
#include "analyzer/report/site_json.h"

namespace memtrace::report {

Json outlier_json(const Outlier& outlier);

} // namespace memtrace::report
