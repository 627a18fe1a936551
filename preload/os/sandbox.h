// Purpose: the recorder makes no system call in a sandbox.
// Runs: around a call of the program that installs a filter of system calls.
#pragma once

#include "preload/os/clocks.h"

namespace memtrace::record::os {

// A program that installs a seccomp filter may have allowed none of the recorder's calls: an allow-list of
// seven calls killed the program with SIGSYS at the recorder's next sched_yield. So from the filter on all
// functions of this folder fail with EPERM in this process, and clocks go on without the kernel.

// Refuses to open files, waits a second at most for other threads to close theirs and to return from
// the kernel, then refuses all calls.
void stop_calls(Counter counter);
// The program's filter was not installed.
void allow_calls();
// The process began under such a filter, and is not recorded.
void never_call();

} // namespace memtrace::record::os
