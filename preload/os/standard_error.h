// Purpose: prints the recorder's lines on the program's standard error.
// Runs: on any thread, also on threads that glibc does not know.
#pragma once

#include <cstddef>

namespace memtrace::record::os {

// Remembers the file of descriptor 2 at the start of the process. A program may close it later and give its
// number to a data file.
void remember_stderr();
// Prints a line if descriptor 2 is still that file and takes the line at once. The program does not notice it:
// no SIGPIPE, no SIGTTOU, no waiting. False: nothing was printed, as on a thread without the program's
// descriptors.
bool say(const char* text, std::size_t bytes);

} // namespace memtrace::record::os
