// Purpose: `memtrace explain`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace memtrace::cli {

struct ExplainArguments {
  std::string trace; // empty: the newest job
  std::string memory;
  std::optional<std::uint64_t> parameters;
  std::optional<std::uint64_t> project;
  std::string format = "text";
  std::string output;
};

// Returns the exit status. Throws UsageError, or trace::ReadError if a trace could not be read.
int explain_command(const ExplainArguments& arguments);

} // namespace memtrace::cli
