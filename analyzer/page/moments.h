// Purpose: the moments of a run that a page marks, and the parts of the run that it stores block by block.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/findings/common/finding.h"
#include "analyzer/timeline/row_windows.h"

namespace memtrace::report {

struct PageMark {
  replay::Instant instant;
  std::string kind; // "peak", "finding", "death"
  std::string text;
  std::optional<std::size_t> finding; // its number among the findings of the process
};

struct Moments {
  std::vector<PageMark> marks;
  std::vector<replay::Interest> interests; // the most important one first
};

// Returns the peaks, the death and the moments of the findings of a process; `lanes`: the leading one first.
Moments moments_of(const ProcessAnalysis& analysis, const Findings& findings,
                   const std::vector<replay::Instant>& peaks);

} // namespace memtrace::report
