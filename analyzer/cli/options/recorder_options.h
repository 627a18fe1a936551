// Purpose: the options that set the environment variables of the recorder. `run` and `env` have them.
#pragma once

#include <CLI/CLI.hpp>

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace memtrace::cli {

// An option that sets one environment variable.
struct RecorderOption {
  const char* option;
  const char* variable;
  const char* value; // what it takes, for --help; nullptr: the option is a flag
  const char* help;
  std::string (*check)(const std::string& text) = nullptr;
  const char* flag = "1"; // the value that a flag sets
};

std::span<const RecorderOption> recorder_options();

using Variables = std::vector<std::pair<std::string, std::string>>;

// Adds all of them. Each one that the user gives appends its variable and value to `variables`.
void add_recorder_options(CLI::App& command, Variables& variables);

} // namespace memtrace::cli
