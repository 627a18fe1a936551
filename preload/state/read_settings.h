// Purpose: reads the settings from the MEMTRACE_* variables.
// Runs: once, in the constructor.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record {

// Reads the environment and decides whether this program (`exe`, the file name of its executable) is traced. A
// value that cannot be read: one line on stderr, and the default. Uses getenv: constructor only.
void read_settings(const char* exe);

// Shell pattern of `*` and `?`, the whole name; false for an empty pattern.
bool matches(const char* pattern, std::size_t bytes, const char* name);
// True if one of a comma-separated list matches.
bool matches_any(const char* list, const char* name);
// "4096", "512K", "32M", "4G"; false if it is anything else.
bool parse_size(const char* text, std::uint64_t* bytes);

} // namespace memtrace::record
