// Purpose: `memtrace diff`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/attribute/step_selection.h"

namespace memtrace::cli {

struct DiffArguments {
  std::vector<std::string> traces; // two runs; or one, or none for the newest job
  bool first_vs_steady = false;
  std::optional<replay::StepRange> steps; // the two of one run
  std::vector<std::string> phases;        // one for both sides, or one for each
  std::string memory;                     // "" for the one where most tensors are
  std::size_t top = 20;
  std::string format = "text";
  std::string output;
};

// The exit status. Throws UsageError, or trace::ReadError when a trace could not be read.
int diff_command(const DiffArguments& arguments);

} // namespace memtrace::cli
