// Purpose: the blocks of a peak, grouped so that the groups of several processes can be compared.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/calltree/call_tree.h"

namespace memtrace::report {

// Blocks of one role, kind, line and phase of birth. The line is text, because ids of stacks differ between
// processes.
struct PeakGroup {
  std::string role;
  std::string kind;
  std::optional<std::string> own_line, allocated_by; // nullopt: no stack, or a group of many lines
  std::optional<std::string> born_phase;
  std::int64_t bytes = 0, untouched = 0, asked = 0, blocks = 0;
  bool sampled = false;
};

// Returns the largest groups, and one group for the other blocks of each role and kind. Their bytes add up to
// the peak.
std::vector<PeakGroup> peak_groups(ProcessAnalysis& analysis, replay::Instant instant,
                                   const replay::Peak& peak);

} // namespace memtrace::report
