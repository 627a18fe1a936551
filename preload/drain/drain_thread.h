// Purpose: rings -> segments, and the samples, off the program's threads.
// Runs: on the background thread, all signals blocked, unknown to glibc.
#pragma once

#include <cstdint>

namespace memtrace::record {

// Ends it and waits, bounded, until the kernel no longer counts it; it comes back by `restart_drain_after`.
// Before fork and exec. False: it is still there.
bool retire_drain();

// The same, and no other one is started until release_drain: before a call that changes what the process's
// threads may do. A disk that hangs keeps the thread in the kernel: it ends when that returns.
bool hold_drain();
// `quiet_ns`: as below.
void release_drain(std::uint64_t quiet_ns);

// Allows it again, not before `quiet_ns` from now (the program must have had the result of the call by then).
void restart_drain_after(std::uint64_t quiet_ns);

// In a forked child: it is not there.
void forget_drain();

} // namespace memtrace::record
