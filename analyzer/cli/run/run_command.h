// Purpose: `memtrace run`: starts a command under the preload object and returns its exit status.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace memtrace::cli {

struct RunArguments {
  std::vector<std::pair<std::string, std::string>> variables; // MEMTRACE_* and their values
  std::vector<std::string> command;
};

// Adds the subcommand to the command line. `command`: the words after "--". If the user gives the subcommand,
// `parsed` gets its arguments.
void add_run(CLI::App& app, const std::vector<std::string>& command,
             const std::function<void(const RunArguments&)>& parsed);

// Returns the exit status of the command, or 128 + N if signal N ended it. Throws UsageError if it cannot be
// started.
int run_command(const RunArguments& arguments);

} // namespace memtrace::cli
