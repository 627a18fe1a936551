// Purpose: who is told how far a pass over a trace has come.
#pragma once

#include <cstdint>
#include <string>

namespace memtrace::trace {

class Progress {
 public:
  virtual ~Progress() = default;
  // Thousands of times in a pass: cheap, and silent most often. `what` is a verb: "checking".
  virtual void at(const char* what, std::uint64_t done, std::uint64_t all) = 0;
  // What is worked on from now on: "trace 3 of 8".
  virtual void on(std::string subject) = 0;
  // Before anything else is said on the terminal.
  virtual void clear() = 0;
};

} // namespace memtrace::trace
