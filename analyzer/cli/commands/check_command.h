// Purpose: `memtrace check`.
#pragma once

#include <string>
#include <vector>

namespace memtrace::cli {

struct CheckArguments {
  std::string trace;            // "": the newest job
  std::vector<std::string> max; // budgets: "peak(host) <= 2G"
  std::string baseline;         // a report as JSON; "": none
  double tolerance = 5;         // percent
  std::string format = "text";  // text, github
  std::string junit;            // file; "": none
  bool all = false;             // also the budgets that are kept
};

// Returns 0 if all budgets are kept, else 1. Throws UsageError, or trace::ReadError if no trace could be read.
int check_command(const CheckArguments& arguments);

} // namespace memtrace::cli
