// Room: report.
// Job: for people: how a process ended, who held memory then, and what would have fit.
#pragma once

#include <string>
#include <vector>

#include "report/text.h"

namespace memtrace::report {

// Another process of the job, beside the one that is explained.
struct Other {
  std::uint32_t pid = 0;
  std::string kind;
  std::uint32_t rank = trace::kNoRank;
  Ending end;
  double later = 0;           // s, its last record after the explained one's; below 0: before it
  std::uint64_t resident = 0; // at its last sample
};

std::string postmortem_text(View& view, const std::vector<Other>& others, const Look& look);

} // namespace memtrace::report
