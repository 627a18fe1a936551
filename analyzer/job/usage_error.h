// Purpose: the error for a command that lacks what it needs.
#pragma once

#include <stdexcept>
#include <string>

namespace memtrace::report {

// Its text is one line that names the thing, the reason and the remedy. The command ends with status 2.
class UsageError : public std::runtime_error {
 public:
  explicit UsageError(const std::string& line) : std::runtime_error(line) {}
};

} // namespace memtrace::report
