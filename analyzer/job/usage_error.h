// Purpose: the one way to say that a command was not given what it needs.
#pragma once

#include <stdexcept>
#include <string>

namespace memtrace::report {

// One line that names the thing, the reason and the way out. Ends the command with status 2.
class UsageError : public std::runtime_error {
 public:
  explicit UsageError(const std::string& line) : std::runtime_error(line) {}
};

} // namespace memtrace::report
