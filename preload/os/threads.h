// Purpose: processes and threads: their ids, how they wait, and how a thread is started.
// Runs: on any thread, also on threads that glibc does not know.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record::os {

std::uint32_t user();                            // the effective user id
std::uint64_t resource_limit(int resource);      // RLIMIT_*; all ones: no limit, or not known
bool host_name(char* out, std::size_t capacity); // truncated if it is longer
int process_id();
int parent_id();
// True if this process runs in the memory of its parent, as a child of vfork does.
bool shares_memory_of_parent();
int thread_id();
// Returns how often the calling thread gave up the CPU to wait for something.
std::uint64_t voluntary_switches();
// Returns the highest RSS of this process so far, in bytes, or that of the program before exec, if it was
// higher.
std::uint64_t highest_resident();
std::uint64_t major_faults(); // of the process: page faults that waited for storage
bool thread_exists(int tid);  // of this process
void yield();
void sleep_ns(std::uint64_t ns);
bool in_signal_handler(); // a heuristic: a signal other than SIGPIPE is blocked
void futex_wait(const std::uint32_t* word, std::uint32_t expected, std::uint64_t timeout_ns);
void futex_wake(const std::uint32_t* word);

// Closes all descriptors of a thread that has its own descriptor table (below). The table begins as a copy of
// the program's, and must not keep a pipe of the program open.
void close_all_of_this_thread();

// Returns the number of the calling thread's own table of descriptors; 0: it has the program's. A thread has a
// table of its own if it runs on the stack that start_thread() got last. So no other thread may ever use that
// stack.
std::uint32_t own_descriptor_table();

// Starts a thread that glibc does not know. It has no TLS of libc, all its signals are blocked, and
// `run(argument)` may use only this file and plain memory. If the thread is the last of its process, the
// process ends with the status that `run` returns. The kernel sets `*tid` to 0 when the thread has ended.
// Returns the thread's id or a negative errno.
long start_thread(int (*run)(void*), void* argument, void* stack, std::size_t stack_bytes, void* tls,
                  std::uint32_t* tid);

} // namespace memtrace::record::os
