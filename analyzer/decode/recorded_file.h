// Purpose: tells files that a traced process wrote, or that hold such files, from others.
#pragma once

#include <string>

namespace memtrace::trace {

// Returns "a trace", "the rings of a trace", "the rollup of a trace" or "a packed file", by the first bytes of
// the file. Returns "" for anything else, and if the path is not a regular file or cannot be read.
const char* recorded_content(const std::string& path);

} // namespace memtrace::trace
