// Purpose: writes the text report: what happened, the causes with their remedies, then the evidence.
#pragma once

#include <string>

#include "analyzer/explain/grouped_rows.h"
#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"
#include "analyzer/wording/text_lines.h"

namespace memtrace::report {

struct TextStyle {
  Screen screen;
  std::size_t holders = 12;     // rows of the table of blocks at the peak
  bool all_steps = false;       // show every selected row, not only the informative ones
  Grouping by = Grouping::line; // the rows of that table
  bool all = false;             // all details: a row for each site, the ledgers as tables
  bool beside_others = false;   // findings about several processes stand above
};

// Returns the text of a finding about several processes.
std::string finding_text(const Finding& finding, const TextStyle& style);

// Returns the full text of a process.
std::string process_text(ProcessAnalysis& analysis, const Findings& findings, const Options& options,
                         const TextStyle& style);

} // namespace memtrace::report
