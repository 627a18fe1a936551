// Purpose: processes and threads: who this one is, how it waits, and how one is started.
// Runs: on any thread, also on one that glibc does not know.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record::os {

std::uint32_t user();                            // the effective one
std::uint64_t resource_limit(int resource);      // RLIMIT_*; all ones: there is none
bool host_name(char* out, std::size_t capacity); // cut where it is longer
int process_id();
int parent_id();
int thread_id();
// How often the calling thread gave up the processor by itself, to wait for something.
std::uint64_t voluntary_switches();
bool thread_exists(int tid); // of this process
void yield();
void sleep_ns(std::uint64_t ns);
bool in_signal_handler(); // as a rule: a signal other than SIGPIPE is blocked
void futex_wait(const std::uint32_t* word, std::uint32_t expected, std::uint64_t timeout_ns);
void futex_wake(const std::uint32_t* word);

// For a thread with a descriptor table of its own (below): it begins as a copy of the program's, and a pipe of
// the program's must not stay open by it.
void close_all_of_this_thread();

// A thread that glibc does not know: no TLS of libc's, all signals blocked, `run(argument)` must use nothing
// but this file and plain memory. `*tid` is cleared by the kernel when it is gone. Returns its id or a negative
// errno.
long start_thread(void (*run)(void*), void* argument, void* stack, std::size_t stack_bytes, void* tls,
                  std::uint32_t* tid);

} // namespace memtrace::record::os
