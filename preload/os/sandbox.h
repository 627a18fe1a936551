// Purpose: stops the recorder's system calls when the program enters a sandbox.
// Runs: around a call of the program that installs a seccomp filter.
#pragma once

#include "preload/os/clocks.h"

namespace memtrace::record::os {

// The seccomp filter of a program may forbid every system call of the recorder. An allow-list of seven calls
// killed the program with SIGSYS at the recorder's next sched_yield. So once the filter is installed, all
// functions of this folder fail with EPERM in this process, and the clocks continue without the kernel.

// Refuses to open files. Then waits at most a second until other threads have closed their files and returned
// from the kernel. Then refuses all calls.
void stop_calls(Counter counter);
// Allows all calls again, because the program's filter was not installed.
void allow_calls();
// Refuses all calls, because the process started under such a filter and is not recorded.
void never_call();

} // namespace memtrace::record::os
