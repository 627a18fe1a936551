// Purpose: writes the report of a job: what differs among its ranks, then its processes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/job/first_death.h"
#include "analyzer/print/text/process_summary.h"
#include "analyzer/rss/host_outliers.h"
#include "analyzer/rss/job_capacity.h"
#include "analyzer/rss/rank_outliers.h"
#include "analyzer/wording/text_lines.h"

namespace memtrace::report {

// What differs among the ranks and hosts of a job, and the memory that it had.
struct JobDifferences {
  std::vector<Outlier> outliers;
  std::vector<HostOutlier> hosts;
  std::optional<FirstDeath> death;
  std::vector<CapacityLimit> capacity;
};

// Returns the top of the report of several ranks: the rank that failed first, those that differ or that they
// are alike, hosts that differ, the findings of the ranks, the table of the ranks. "" if there are fewer than
// two ranks.
std::string ranks_text(const std::vector<ProcessSummary>& processes, const JobDifferences& differences,
                       const Screen& screen);

// Returns a line for each process but number `shown` and, if there are several, the ranks.
std::string others_text(const std::vector<ProcessSummary>& processes, std::size_t shown, const Screen& screen);

// Returns the number of the process whose report is shown in full: the first, unless another rank differs.
std::size_t shown_in_full(const std::vector<ProcessSummary>& processes, const std::vector<Outlier>& outliers);

} // namespace memtrace::report
