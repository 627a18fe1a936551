// Purpose: `memtrace env`: prints the variables that trace a program, for a shell to set.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace memtrace::cli {

struct EnvArguments {
  std::vector<std::pair<std::string, std::string>> variables; // MEMTRACE_* and their values
  std::vector<std::string> unset;                             // if not empty: the variables to unset
  std::string format = "sh";                                  // or "json"
};

// Prints the lines, and returns 0. Throws UsageError if the preload object is not installed.
int env_command(const EnvArguments& arguments);

} // namespace memtrace::cli
