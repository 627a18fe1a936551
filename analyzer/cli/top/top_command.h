// Purpose: `memtrace top`.
#pragma once

#include <string>

namespace memtrace::cli {

struct TopArguments {
  std::string target;  // a pid, a trace or a directory; "": the newest job
  bool once = false;   // print one screen
  double interval = 2; // seconds between two refreshes
};

// Returns the exit status. Throws UsageError, or trace::ReadError if the trace could not be read.
int top_command(const TopArguments& arguments);

} // namespace memtrace::cli
