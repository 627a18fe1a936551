// Purpose: reads the settings from the MEMTRACE_* variables.
// Runs: once, in the constructor.
#pragma once

namespace memtrace::record {

// Reads the environment and decides whether this program is traced. `exe` is the file name of its executable.
// If a value cannot be read, prints one line on stderr and uses the default. Constructor only.
void read_settings(const char* exe);

} // namespace memtrace::record
