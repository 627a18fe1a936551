// Purpose: the report for people: causes first, at most 100 columns.
#pragma once

#include <string>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

struct TextStyle {
  bool color = false;
  std::size_t holders = 12; // rows of the table of what the peak holds
  bool all_steps = false;   // show every row that was selected, not only the telling ones
};

// Of one that is about several processes.
std::string finding_text(const Finding& finding, const TextStyle& style);

// Of the process the report is about.
std::string process_text(ProcessAnalysis& analysis, const Findings& findings, const Options& options,
                         const TextStyle& style);

// Of another one, in a line.
std::string process_line(ProcessAnalysis& analysis);

} // namespace memtrace::report
