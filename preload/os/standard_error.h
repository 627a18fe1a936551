// Purpose: the lines of the recorder on the program's standard error.
// Runs: on any thread, also on one that glibc does not know.
#pragma once

#include <cstddef>

namespace memtrace::record::os {

// The descriptor 2 that the process started with; a program may close it and give its number to a data file.
void remember_stderr();
// A line on it, if it is still that one and takes the line at once. Nothing the program would notice: no
// SIGPIPE, no SIGTTOU, no waiting.
void say(const char* text, std::size_t bytes);

} // namespace memtrace::record::os
