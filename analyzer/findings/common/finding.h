// Purpose: one cause of memory that a trace proves, with what would lower it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/replay/live_blocks.h"

namespace memtrace::report {

struct Finding {
  std::string id; // of the contract's list
  std::string title;
  replay::MemoryId memory = 0;
  std::string phase;
  replay::Step step = replay::Step::none;
  std::int64_t bytes = 0;
  bool certain = false;
  std::vector<std::string> evidence;
  std::string remedy;
  std::string no_remedy; // what would not help; may be empty
  format::StackId site{};
  // For the text, which says the same in sentences.
  std::uint64_t lifetime = 0; // ns
  std::vector<std::string> sentences;
};

using Findings = std::vector<Finding>;

} // namespace memtrace::report
