// Purpose: finds the times in which the recorder could not write files: then only events that fit the rings
// survive.
#pragma once

#include <string>
#include <vector>

#include "analyzer/explain/process_analysis.h"

namespace memtrace::report {

struct RingsOnly {
  std::string why; // "sandbox", "credentials"; an unknown word of a later version stays as it is
  format::Stamp from = 0;
  format::Stamp until = 0; // 0: until the end
};

// Returns these times in order.
std::vector<RingsOnly> rings_only(const ProcessAnalysis& analysis);

// Returns a sentence about them, or "" if there was no such time.
std::string rings_only_text(const ProcessAnalysis& analysis);

} // namespace memtrace::report
