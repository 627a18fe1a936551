// Purpose: the error for an input that cannot be read.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace memtrace::trace {

// An input that cannot be read at all. The text names the file, the offset in bytes and what was expected
// there. If a part can be read, there is no error, but a count of the losses: see Damage.
class ReadError : public std::runtime_error {
 public:
  ReadError(const std::string& file, std::uint64_t offset, const std::string& expected)
      : std::runtime_error(file + ": at byte " + std::to_string(offset) + ": " + expected) {}
};

} // namespace memtrace::trace
