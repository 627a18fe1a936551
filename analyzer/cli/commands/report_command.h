// Purpose: `memtrace report`.
#pragma once

#include <string>

#include "analyzer/explain/process_analysis.h"

namespace memtrace::cli {

struct ReportArguments {
  std::string trace; // "" for the newest job
  std::string format = "text";
  std::string output; // "" for stdout
  bool all = false;   // rows without end
  report::Options options;
  bool top_given = false;
};

// The exit status. Throws UsageError, or trace::ReadError when nothing could be read.
int report_command(const ReportArguments& arguments);

} // namespace memtrace::cli
