// Purpose: the clocks. They continue when the recorder may make no system calls.
// Runs: on any thread, also on threads that glibc does not know.
#pragma once

#include <cstdint>

namespace memtrace::record::os {

// Reads the time stamp counter and the clock at the start of a process. stop_clocks() computes the counter's
// rate from the difference.
void begin_clock();

std::uint64_t monotonic_ns();
std::uint64_t thread_cpu_ns(); // of the calling thread; 0: system calls are stopped
std::uint64_t unix_ns();
std::uint64_t boot_ns(); // since the machine booted

// Whether the time stamp counter is readable after the program stops the recorder's system calls. Strict mode
// of seccomp forbids it too.
enum class Counter : std::uint8_t { readable, refused };
// From this call on, the clocks continue from their present values, by the time stamp counter if it can be
// read.
void stop_clocks(Counter counter);

} // namespace memtrace::record::os
