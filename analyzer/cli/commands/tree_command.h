// Purpose: `memtrace tree`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace memtrace::cli {

// The limit of --min-size: a share of the total or a number of bytes.
struct LeastSize {
  double percent = 1;
  std::int64_t bytes = -1; // -1: `percent` counts
};

struct TreeArguments {
  std::string trace;   // "": the newest job
  std::string finding; // "": all that was alive at the peak
  std::string memory;  // "": that of the finding, else the findings determine it
  std::size_t depth = 1000;
  LeastSize least;
  bool bottom_up = false;
  bool all_frames = false;
  std::string format = "text";
  std::string output;
};

// Returns the exit status. Throws UsageError, or trace::ReadError if the trace could not be read.
int tree_command(const TreeArguments& arguments);

} // namespace memtrace::cli
