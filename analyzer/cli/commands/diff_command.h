// Purpose: `memtrace diff`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/attribute/step_selection.h"
#include "analyzer/explain/process_analysis.h"

namespace memtrace::cli {

struct DiffArguments {
  std::vector<std::uint32_t> ranks; // two ranks of one job, or none
  std::vector<std::string> traces;  // two runs, one run, or none for the newest job
  bool first_vs_steady = false;
  std::optional<replay::StepRange> steps; // the two steps of one run
  std::vector<std::string> phases;        // one phase for both sides, or one for each side
  std::string memory;                     // "": the memory with the most tensor bytes
  std::size_t top = 20;
  std::string format = "text";
  std::string output;
};

// Returns what `diff --first-vs-steady --format json` prints. Throws NothingToShow.
std::string first_and_typical_json(report::ProcessAnalysis& analysis, replay::MemoryId memory);

// Returns the exit status. Throws UsageError, or trace::ReadError if a trace could not be read.
int diff_command(const DiffArguments& arguments);

} // namespace memtrace::cli
