// Purpose: finds the traces that `memtrace top` shows: of a pid, or as other commands find TRACE.
#pragma once

#include <string>
#include <vector>

namespace memtrace::cli {

struct TopTarget {
  std::vector<std::string> files;
  bool grows = false; // traces that come later belong to it: the argument is a directory, or none
};

// A number that is not a file is a pid. Throws UsageError if there is no trace.
TopTarget top_target(const std::string& argument);

} // namespace memtrace::cli
