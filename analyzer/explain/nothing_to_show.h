// Purpose: the error of a question that a trace has no answer to.
#pragma once

#include <stdexcept>

namespace memtrace::report {

// The line says what the trace has instead.
class NothingToShow : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

} // namespace memtrace::report
