// Purpose: gets separate debug information from the servers of DEBUGINFOD_URLS.
#pragma once

#include <span>
#include <string>

namespace memtrace::symbols {

// Runs the program debuginfod-find of elfutils, which keeps a cache. Returns the path of a file, or "" if no
// server has the build or the program is not installed. May take as long as DEBUGINFOD_TIMEOUT says.
std::string downloaded_debuginfo(std::span<const unsigned char> build_id);

} // namespace memtrace::symbols
