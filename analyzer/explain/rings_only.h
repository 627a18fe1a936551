// Purpose: when the recorder could write to no file: what it recorded then is what its rings had room for.
#pragma once

#include <string>
#include <vector>

#include "analyzer/explain/process_analysis.h"

namespace memtrace::report {

struct RingsOnly {
  std::string why; // "sandbox", "credentials"; a later version's word as it is
  format::Stamp from = 0;
  format::Stamp until = 0; // 0: to the end
};

// In their order.
std::vector<RingsOnly> rings_only(const ProcessAnalysis& analysis);

// A sentence; empty when there was no such time.
std::string rings_only_text(const ProcessAnalysis& analysis);

} // namespace memtrace::report
