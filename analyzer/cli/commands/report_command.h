// Purpose: `memtrace report`.
#pragma once

#include <string>

#include "analyzer/cli/commands/report_page.h"

namespace memtrace::cli {

struct ReportArguments {
  std::string trace; // "": the newest job
  std::string format = "text";
  std::string output;      // "": stdout
  bool all = false;        // do not limit the rows
  std::string by = "line"; // the rows of the table of the peak: line, module, role
  std::string memory;      // "": the findings determine it
  report::Options options;
  bool top_given = false;
  std::uint64_t page_size = kPageSize; // bytes of an HTML page, about
};

// Returns what `report --format json --compact --top N` prints. Throws as report_command does.
std::string report_json(const std::string& trace, std::size_t top);

// Returns the exit status. Throws UsageError, or trace::ReadError if no trace could be read.
int report_command(const ReportArguments& arguments);

} // namespace memtrace::cli
