// Purpose: writes the report of a job: what differs among its ranks, then its processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"
#include "analyzer/rss/rank_outliers.h"
#include "analyzer/wording/text_lines.h"

namespace memtrace::report {

// What the report of a job says about one process.
struct ProcessSummary {
  std::uint32_t pid = 0;
  std::uint32_t rank = trace::kNoRank;
  std::uint32_t world_size = 0; // ranks of the job; 0: not known
  std::string kind;
  std::string script;
  std::string ended;
  bool died_for_memory = false;
  bool modelled = false; // its parameters are known
  // Bytes, each at most. `allocated` without reservations that were never touched; `resident` 0: not known.
  std::int64_t allocated = 0, tensors = 0, resident = 0;
  std::uint64_t lost = 0;
  std::string limited;               // why it was recorded with less detail; "": it was not
  std::vector<std::string> findings; // titles
};
ProcessSummary summary_of(const ProcessAnalysis& analysis, const Findings& findings, bool died_for_memory);

// Returns the top of the report of several ranks: the rank that differs or that they are alike, the findings of
// each, the table of the ranks. "" if there are fewer than two ranks.
std::string ranks_text(const std::vector<ProcessSummary>& processes, const std::vector<Outlier>& outliers,
                       const Screen& screen);

// Returns a line for each process but number `shown` and, if there are several, the ranks.
std::string others_text(const std::vector<ProcessSummary>& processes, std::size_t shown, const Screen& screen);

// Returns the number of the process whose report is shown in full: the first, unless another rank differs.
std::size_t shown_in_full(const std::vector<ProcessSummary>& processes, const std::vector<Outlier>& outliers);

} // namespace memtrace::report
