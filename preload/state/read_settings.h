// Purpose: reads the settings from the MEMTRACE_* variables.
// Runs: once, in the constructor.
#pragma once

#include <cstddef>

namespace memtrace::record {

// Reads the environment and decides whether this program is traced. `exe` is the file name of its executable.
// If a value cannot be read, prints one line on stderr and uses the default. Constructor only.
void read_settings(const char* exe);

// True if the whole name matches a shell pattern of `*` and `?`. An empty pattern matches only an empty name.
bool matches(const char* pattern, std::size_t bytes, const char* name);
// True if `name` matches a pattern of a comma-separated list.
bool matches_any(const char* list, const char* name);

} // namespace memtrace::record
