// Purpose: what the report of a job says about one process.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"
#include "analyzer/trace/coordinates.h"

namespace memtrace::report {

struct ProcessSummary {
  std::uint32_t pid = 0;
  std::uint32_t rank = trace::kNoRank;
  std::uint32_t world_size = 0; // ranks of the job; 0: not known
  std::string kind;
  std::string script;
  std::string ended; // with the time
  std::string how;   // without it
  double seconds = 0;
  trace::Coordinates coordinates;
  std::map<std::string, std::int64_t> phases; // of a rank: the highest level in each phase
  bool phases_on_gpu = false; // they are of tensors on the GPU with the most, else of `allocated`
  bool died_for_memory = false;
  bool modelled = false; // its parameters are known
  // Bytes, each at most. `allocated` without reservations that were never touched; `resident` 0: not known.
  std::int64_t allocated = 0, tensors = 0, resident = 0;
  std::uint64_t lost = 0;
  std::string limited;               // why it was recorded with less detail; "": it was not
  std::vector<std::string> findings; // titles
};
ProcessSummary summary_of(const ProcessAnalysis& analysis, const Findings& findings, bool died_for_memory);

} // namespace memtrace::report
