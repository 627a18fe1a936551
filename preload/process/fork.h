// Purpose: stops the background thread while the kernel counts threads; resets the recorder in a forked child.
// Runs: around fork, as atfork handlers, and around the end of a thread.
#pragma once

namespace memtrace::record {

// They run around fork. The first two also run around any other call that counts threads.
void before_fork();
void after_fork_in_parent();
void after_fork_in_child();

// Runs before a thread ends without glibc: it may be the last one besides the background thread.
void before_thread_exit();

} // namespace memtrace::record
