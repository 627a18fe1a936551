// Purpose: writes what a job of ranks must say first: which rank failed first, and which hosts differ.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/job/first_death.h"
#include "analyzer/rss/host_outliers.h"
#include "analyzer/rss/job_capacity.h"
#include "analyzer/wording/text_lines.h"

namespace memtrace::report {

void write_first_death(const FirstDeath& death, Lines& lines);
void write_host_outliers(const std::vector<HostOutlier>& hosts, Lines& lines);
// Writes what of the job's memory was never used, for the hosts and for the GPUs. Nothing for less than a
// GiB-hour: the job was short.
void write_capacity(const std::vector<CapacityLimit>& limits, Lines& lines);

} // namespace memtrace::report
