// Purpose: `memtrace report`.
#pragma once

#include <functional>
#include <string>

#include "analyzer/explain/process_analysis.h"

namespace CLI {
class App;
}

namespace memtrace::cli {

struct ReportArguments {
  std::string trace; // "": the newest job
  std::string format = "text";
  std::string output; // "": stdout
  bool all = false;   // do not limit the rows
  std::string memory; // "": the findings determine it
  report::Options options;
  bool top_given = false;
};

// Adds the subcommand to the command line. If the user gives it, `parsed` gets its arguments.
void add_report(CLI::App& app, const std::function<void(const ReportArguments&)>& parsed);

// Returns the exit status. Throws UsageError, or trace::ReadError if no trace could be read.
int report_command(const ReportArguments& arguments);

} // namespace memtrace::cli
