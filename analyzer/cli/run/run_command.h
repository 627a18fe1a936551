// Purpose: `memtrace run`: start a command under the preload object and end as it ends.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace memtrace::cli {

struct RunArguments {
  std::vector<std::pair<std::string, std::string>> variables; // MEMTRACE_* and their values
  std::vector<std::string> command;
};

// The command's exit status; 128 + N when signal N ended it. Throws UsageError when it cannot be started.
int run_command(const RunArguments& arguments);

} // namespace memtrace::cli
