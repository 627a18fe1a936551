// Purpose: `memtrace pack`.
#pragma once

#include <string>
#include <vector>

namespace memtrace::cli {

struct PackArguments {
  std::string trace; // "": the newest job
  std::string output;
  bool redact = false;
};

// For `memtrace run`: packs these traces of one job. Throws as pack_command does.
void pack_traces(const std::vector<std::string>& traces, const std::string& output);

// Returns the exit status. Throws UsageError, trace::ReadError if no trace could be read, or std::runtime_error
// if a file could not be read or written.
int pack_command(const PackArguments& arguments);

} // namespace memtrace::cli
