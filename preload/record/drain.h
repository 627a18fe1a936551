// Room: record. The background thread, all signals blocked, unknown to glibc.
// Job: rings -> segments, and the samples, off the program's threads.
#pragma once

#include <cstdint>

namespace memtrace::record {

// Starts it if there is none. Only once recording has begun. Safe on any thread, also inside a hook: it takes
// no lock of libc's, for it is a raw clone (pthread_create would allocate, and a thread of glibc's would be
// counted at exit).
void start_drain();

// Ends it and waits, bounded, until the kernel no longer counts it; it comes back by `restart_drain_after`.
// Before fork and exec. False: it is still there.
bool retire_drain();

// The same, and no other one is started until release_drain: before a call that changes what the process's
// threads may do. A disk that hangs keeps the thread in the kernel: it ends when that returns.
bool hold_drain();
// `quiet_ns`: as below.
void release_drain(std::uint64_t quiet_ns);
bool drain_is_running();

// Allows it again, not before `quiet_ns` from now (the program must have had the result of the call by then).
void restart_drain_after(std::uint64_t quiet_ns);

// From a tracked event: starts it again once that is due. One load when nothing is to do.
void keep_drain_running();

// Wakes it: a ring is filling, or a phase ended and wants a sample.
void wake_drain();
void request_sample();
// An allocation failed: what the limits are now.
void request_full_sample();

// In a forked child: it is not there.
void forget_drain();

} // namespace memtrace::record
