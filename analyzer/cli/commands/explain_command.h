// Purpose: `memtrace explain`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace memtrace::cli {

struct ExplainArguments {
  std::string trace; // empty: the newest job
  std::string memory;
  std::optional<std::uint64_t> parameters;
  std::optional<std::uint64_t> project;
  std::string format = "text";
  std::string output;
};

// Adds the subcommand to the command line. If the user gives it, `parsed` gets its arguments.
void add_explain(CLI::App& app, const std::function<void(const ExplainArguments&)>& parsed);

// Returns the exit status. Throws UsageError, or trace::ReadError if a trace could not be read.
int explain_command(const ExplainArguments& arguments);

} // namespace memtrace::cli
