// Purpose: `memtrace export`.
#pragma once

#include <string>

namespace memtrace::cli {

struct ExportArguments {
  std::string trace;              // "": the newest job
  std::string to;                 // a format of kExportFormats
  std::string memory;             // "": the findings determine it
  std::string output;             // "": stdout
  std::string python = "python3"; // has pyarrow, for parquet
};

inline constexpr const char* kExportFormats[] = {"folded",         "speedscope", "pprof",  "perfetto",
                                                 "torch-snapshot", "sqlite",     "parquet"};

// Returns the exit status. Throws UsageError, or trace::ReadError if the trace could not be read.
int export_command(const ExportArguments& arguments);

} // namespace memtrace::cli
