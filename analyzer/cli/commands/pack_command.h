// Purpose: `memtrace pack` and `memtrace unpack`.
#pragma once

#include <string>
#include <vector>

#include "analyzer/pack/job/pack_job.h"

namespace memtrace::cli {

struct PackArguments {
  std::string trace; // "": the newest job
  std::string output;
  bool redact = false;
};

struct UnpackArguments {
  std::string packed;
  std::string output; // the directory
};

// For `memtrace run`: packs these traces of one job. Throws as pack_command does.
report::PackedJob pack_traces(const std::vector<std::string>& traces, const std::string& output);

// Returns the exit status. Throws UsageError, trace::ReadError if no trace could be read, or std::runtime_error
// if a file could not be read or written.
int pack_command(const PackArguments& arguments);
int unpack_command(const UnpackArguments& arguments);

} // namespace memtrace::cli
