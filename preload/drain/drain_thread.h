// Purpose: the background thread, which writes the rings as segments and takes the samples.
// Runs: on the background thread, all signals blocked, unknown to glibc.
#pragma once

#include <cstdint>

namespace memtrace::record {

// Ends the thread before a fork or exec. Waits, within a bound, until the kernel no longer counts it.
// `restart_drain_after` starts it again. False: it still exists.
bool retire_drain();

// Like retire_drain(), but no new thread starts until release_drain(). Called before a call that changes the
// privileges of threads. If a disk hangs, the thread is in the kernel, and ends when the kernel returns.
bool hold_drain();
// `quiet_ns`: as in restart_drain_after().
void release_drain(std::uint64_t quiet_ns);

// Allows a restart, at the earliest `quiet_ns` from now, so that the program has the result of its call by
// then.
void restart_drain_after(std::uint64_t quiet_ns);

// Copies the trace of a process that has ended its recording to the shared file system, on a thread of its own.
// `wait`: until that is done, 1 s without progress at most, and 10 s in all. What is left stays on the local
// disk. If a fork ends the thread before that, the next mark of a phase starts it again.
void copy_at_end(bool wait);
// Called at the end of a process that ended its recording before. Waits like copy_at_end(), if files are left.
void finish_copies();

// Called in a forked child, which does not have the thread. forget_thread() is enough if nothing is recorded
// there: after `memtrace arm --steps`, a parent that records no more may still copy.
void forget_drain();
void forget_thread();

} // namespace memtrace::record
