// Purpose: prints the lines that users see.
// Runs: when recording begins, and once if an error occurs.
#pragma once

#include <initializer_list>

namespace memtrace::record {

// Prints `memtrace: `, the parts and a newline in one write, so that lines do not mix. Prints nothing if
// MEMTRACE_QUIET is set. Parts may be paths and settings, so bytes that would control a terminal or begin
// another line are escaped. False: nothing was printed. The background thread cannot print.
bool say(std::initializer_list<const char*> parts);

// Prints once that the trace at `path` cannot be written. Only the announcer prints it: the process that
// printed where the job is recorded.
void say_of_losses(const char* path, long error);
// Prints once, in the same way, that the traces in `from` cannot be copied to `to`. Returns false if it must be
// printed later: standard error is full, or another thread prints.
bool say_of_copies(const char* to, const char* from, long error);
void becomes_speaker(); // makes this process the announcer

// Returns the meaning of a system call's negative errno in a few words.
const char* reason_of(long error);

} // namespace memtrace::record
