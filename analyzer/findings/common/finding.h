// Purpose: one cause of memory use that a trace proves, with its remedy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/passes/peak_without.h"

namespace memtrace::report {

// What the remedy saves at a peak, by a replay of the trace without the blocks that the remedy avoids.
struct PeakSaving {
  replay::Measure measure = replay::Measure::tensor;
  std::int64_t bytes = 0;
};

struct Finding {
  std::string id; // from the list in the report's contract
  std::string title;
  replay::MemoryId memory = 0;
  std::string phase;
  replay::Step step = replay::Step::none;
  std::int64_t bytes = 0;
  std::int64_t bytes_at_peak = 0;   // of its blocks, at the peak that the reports lead with
  std::int64_t bytes_at_end = 0;    // of its blocks, at the death or in the last step
  std::optional<PeakSaving> saving; // nullopt: not measured
  bool certain = false;
  std::vector<std::string> evidence;
  std::string remedy;
  std::string no_remedy; // an action that would not help; may be empty
  format::StackId site{};
  std::vector<format::StackId> stacks; // of its blocks, if they are known by their stacks; else empty
  // For the text report, which states the evidence in sentences.
  std::uint64_t lifetime = 0; // ns
  std::vector<std::string> sentences;
};

using Findings = std::vector<Finding>;

} // namespace memtrace::report
