// Purpose: writes the ranks and hosts that differ, and the rank that failed first, as JSON.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/job/first_death.h"
#include "analyzer/print/json/site_json.h"
#include "analyzer/rss/host_outliers.h"
#include "analyzer/rss/job_capacity.h"
#include "analyzer/rss/rank_outliers.h"

namespace memtrace::report {

Json outlier_json(const Outlier& outlier);
// Returns the limits that the job had for its time, and what of them was not used, in GiB-hours.
Json capacity_json(const std::vector<CapacityLimit>& limits);
Json host_outliers_json(const std::vector<HostOutlier>& hosts);
// Returns how far the clocks of hosts are apart. Empty for one host.
Json clocks_json(const HostClocks& clocks);
// Returns null for none.
Json first_death_json(const std::optional<FirstDeath>& death);

} // namespace memtrace::report
