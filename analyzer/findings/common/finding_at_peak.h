// Purpose: the common parts of findings about a peak: its phase and step, and the blocks of one line of the
// program.
#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"
#include "analyzer/findings/common/peak_candidate.h"

namespace memtrace::report {

// Returns a finding with id, memory, phase, step and certainty. The caller fills in the other fields.
Finding finding_at(const ProcessAnalysis& analysis, const char* id, replay::MemoryId memory,
                   const replay::Peak& peak);

// Returns the candidates that `propose` adds for each memory, one memory after the other.
PeakCandidates in_each_memory(ProcessAnalysis& analysis,
                              void (*propose)(ProcessAnalysis&, replay::MemoryId, PeakCandidates&));

// The blocks of one line of the program at a peak. Add the largest holding first.
struct SiteTotals {
  std::uint64_t bytes = 0;
  std::uint64_t blocks = 0;
  std::uint64_t largest = 0;  // bytes of the largest block
  std::uint64_t lifetime = 0; // ns, of the largest holding, as are the fields below
  format::StackId site{};
  std::string phase;
  replay::NameId born_in = replay::NameId::other; // the phase
  replay::Step step = replay::Step::none;
  std::unordered_set<format::StackId> stacks;

  void add(const ProcessAnalysis& analysis, const replay::Holding& holding);
};

// Sets the bytes, the site and the stacks of a finding to those of a line's blocks.
void set_blocks(Finding& finding, const SiteTotals& blocks);

// Returns " = 1.000 P", the multiple of the parameters' bytes, or "" if the parameters are not known.
std::string times_parameters(const ProcessAnalysis& analysis, std::uint64_t bytes);

} // namespace memtrace::report
