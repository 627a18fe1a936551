// Purpose: the one way to say that an input cannot be read.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace memtrace::trace {

// An input that cannot be read at all: names the file, the offset in bytes and what was expected there.
// What can be read in part is no fault but a count of what was lost, see Damage.
class ReadError : public std::runtime_error {
 public:
  ReadError(const std::string& file, std::uint64_t offset, const std::string& expected)
      : std::runtime_error(file + ": at byte " + std::to_string(offset) + ": " + expected) {}
};

} // namespace memtrace::trace
