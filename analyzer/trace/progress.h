// Room: trace.
// Job: who is told how far a pass over a trace has come.
#pragma once

#include <cstdint>

namespace memtrace::trace {

class Progress {
 public:
  virtual ~Progress() = default;
  // Thousands of times in a pass: cheap, and silent most often. `what` is a verb: "checking".
  virtual void at(const char* what, std::uint64_t done, std::uint64_t all) = 0;
};

} // namespace memtrace::trace
