// Purpose: the error if a trace cannot answer a question.
#pragma once

#include <stdexcept>

namespace memtrace::report {

// The text says what the trace has instead.
class NothingToShow : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

} // namespace memtrace::report
