// Purpose: `memtrace run`: starts a command under the preload object and returns its exit status.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analyzer/cli/watch/watch_arguments.h"

namespace memtrace::cli {

struct RunArguments {
  std::vector<std::pair<std::string, std::string>> variables; // MEMTRACE_* and their values
  std::vector<std::string> command;
  std::string pack;         // the packed file to write afterwards; "": none
  bool only_packed = false; // then the traces are removed
  WatchArguments watch;
};

// Returns the exit status of the command, or 128 + N if signal N ended it. Throws UsageError if it cannot be
// started.
int run_command(const RunArguments& arguments);

} // namespace memtrace::cli
