// Purpose: the background thread is gone while the kernel counts threads; a forked child begins its own life.
// Runs: around fork, as atfork handlers, and around the end of a thread.
#pragma once

namespace memtrace::record {

// Around fork; before and after any call that counts threads.
void before_fork();
void after_fork_in_parent();
void after_fork_in_child();

// A thread ends past glibc: it may be the last one but the background thread.
void before_thread_exit();

} // namespace memtrace::record
