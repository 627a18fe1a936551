// Purpose: groups the blocks alive at one instant by the module of a model, or by role.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/explain/process_analysis.h"

namespace memtrace::report {

enum class Grouping : std::uint8_t { line, module, role };

// The blocks of all modules with one pattern, or of one role.
struct GroupedRow {
  std::string name;        // a pattern of modules, or a use as in HolderRow; "": no module is known
  std::size_t modules = 0; // by module: how many hold these blocks
  std::int64_t bytes = 0;
  std::int64_t sampled = 0; // of the bytes: the estimate that sampled blocks give
  double variance = 0;      // the sum of squared 95 % errors of the sampled bytes
  // By module the uses, by role the modules, with their bytes; the largest first.
  std::vector<std::pair<std::string, std::int64_t>> parts;
};

// Returns the rows, the largest first. Leaves out the part of reservations that was never touched.
std::vector<GroupedRow> grouped_rows(ProcessAnalysis& analysis, const replay::Holdings& alive, Grouping by);

} // namespace memtrace::report
