// Purpose: what findings about a peak have in common: where it was, and blocks of one line of the program.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// With id, memory, phase, step and certainty; the rest is the caller's.
Finding finding_at(const ProcessAnalysis& analysis, const char* id, replay::MemoryId memory,
                   const replay::Peak& peak);

// Those that `find` sees in each memory, in turn.
Findings in_each_memory(ProcessAnalysis& analysis, void (*find)(ProcessAnalysis&, replay::MemoryId, Findings&));

// What one line of the program has at a peak. Give it the largest holding first.
struct SiteTotals {
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
  std::uint64_t largest = 0;  // bytes of the largest block
  std::uint64_t lifetime = 0; // ns, of the largest group, and so the rest
  format::StackId site{};
  std::string phase;
  replay::Step step = replay::Step::none;
  std::unordered_set<format::StackId> stacks;

  void add(const ProcessAnalysis& analysis, const replay::Holding& holding);
};

// " = 1.000 P": so many times the parameters. Empty where there are none.
std::string times_parameters(const ProcessAnalysis& analysis, std::uint64_t bytes);

} // namespace memtrace::report
