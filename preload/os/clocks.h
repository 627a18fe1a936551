// Purpose: the clocks. They continue when the recorder may make no system calls.
// Runs: on any thread, also on threads that glibc does not know.
#pragma once

#include <cstdint>

namespace memtrace::record::os {

// Reads the time stamp counter and the clock at the start of a process. stop_clocks() computes the counter's
// rate from the difference. It also sets whether the clock orders threads.
void begin_clock();

// True if a reading of the monotonic clock is greater than each reading that another thread made before it
// stored something that this thread has loaded. The kernel promises that it is not less. It is greater if the
// clock advances between any two readings of one thread, because that is the shortest way from one reading to
// another (decision 0080). False before begin_clock().
inline constinit bool clock_order = false;
inline bool clock_orders_threads() {
  return __atomic_load_n(&clock_order, __ATOMIC_RELAXED);
}
// Makes clock_orders_threads() false for the rest of the process.
inline void clock_has_no_order() {
  if (clock_orders_threads()) __atomic_store_n(&clock_order, false, __ATOMIC_RELAXED);
}

std::uint64_t monotonic_ns();
std::uint64_t thread_cpu_ns(); // of the calling thread; 0: system calls are stopped
std::uint64_t unix_ns();
// The same by a system call. In a new process it takes 0.3 us, and the vDSO takes two page faults.
std::uint64_t unix_ns_of_kernel();
std::uint64_t boot_ns(); // since the machine booted

// Whether the time stamp counter is readable after the program stops the recorder's system calls. Strict mode
// of seccomp forbids it too.
enum class Counter : std::uint8_t { readable, refused };
// From this call on, the clocks continue from their present values, by the time stamp counter if it can be
// read.
void stop_clocks(Counter counter);

} // namespace memtrace::record::os
