// Purpose: what a command writes, to a file or to stdout.
#pragma once

#include <string>
#include <vector>

namespace memtrace::cli {

// Writes one piece after the other, to stdout where `output` is "". Throws UsageError if they cannot all be
// written.
void write_all(const std::vector<std::string>& pieces, const std::string& output);

} // namespace memtrace::cli
