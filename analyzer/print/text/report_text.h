// Purpose: writes the text report: causes first, at most 100 columns.
#pragma once

#include <string>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

struct TextStyle {
  bool color = false;
  std::size_t holders = 12; // rows of the table of blocks at the peak
  bool all_steps = false;   // show every selected row, not only the informative ones
};

// Returns the text of a finding about several processes.
std::string finding_text(const Finding& finding, const TextStyle& style);

// Returns the full text of a process.
std::string process_text(ProcessAnalysis& analysis, const Findings& findings, const Options& options,
                         const TextStyle& style);

// Returns one line about another process.
std::string process_line(ProcessAnalysis& analysis);

} // namespace memtrace::report
