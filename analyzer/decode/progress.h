// Purpose: the receiver of reports on how far a pass over a trace has come.
#pragma once

#include <cstdint>
#include <string>

namespace memtrace::trace {

class Progress {
 public:
  virtual ~Progress() = default;
  // Called thousands of times in a pass, so it is cheap and mostly does not print. `what` is a verb:
  // "checking".
  virtual void at(const char* what, std::uint64_t done, std::uint64_t all) = 0;
  // Sets the subject of the following reports: "trace 3 of 8".
  virtual void on(std::string subject) = 0;
  // Call it before any other output to the terminal.
  virtual void clear() = 0;
};

} // namespace memtrace::trace
