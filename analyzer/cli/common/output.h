// Purpose: writes the output of a command to a file or to stdout.
#pragma once

#include <string>
#include <vector>

namespace memtrace::cli {

// Writes the pieces in order, to stdout if `output` is "". Throws UsageError if it cannot write all of them.
void write_all(const std::vector<std::string>& pieces, const std::string& output);

} // namespace memtrace::cli
