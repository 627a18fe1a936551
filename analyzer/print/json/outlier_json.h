// Purpose: writes a rank that holds more than the other ranks as JSON.
#pragma once

#include "analyzer/print/json/site_json.h"
#include "analyzer/rss/rank_outliers.h"

namespace memtrace::report {

Json outlier_json(const Outlier& outlier);

} // namespace memtrace::report
