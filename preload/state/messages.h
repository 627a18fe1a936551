// Purpose: the lines that people see.
// Runs: when recording begins, and once when it meets trouble.
#pragma once

#include <initializer_list>

namespace memtrace::record {

// `memtrace: `, the parts and a newline in one write, so that lines do not mix; nothing under MEMTRACE_QUIET.
// Parts may be paths and settings: no byte of theirs steers a terminal or begins another line.
void say(std::initializer_list<const char*> parts);

// Once, by the process that said where the job is recorded: the trace at `path` takes no more.
void say_of_losses(const char* path, long error);
void becomes_speaker(); // this process said it

// What a system call's negative errno means, in a word or two.
const char* reason_of(long error);

} // namespace memtrace::record
