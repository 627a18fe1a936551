// Purpose: the clocks, which go on where no system call may be made.
// Runs: on any thread, also on one that glibc does not know.
#pragma once

#include <cstdint>

namespace memtrace::record::os {

// At the start of a life: from then on the time stamp counter is compared with the clock.
void begin_clock();

std::uint64_t monotonic_ns();
std::uint64_t thread_cpu_ns(); // of the calling thread
std::uint64_t unix_ns();
std::uint64_t boot_ns(); // since the machine began

// What a program that stops the recorder's calls may still use to read the time. Strict mode takes the time
// stamp counter away too.
enum class Counter : std::uint8_t { readable, refused };
// From here on the clocks go on from now, by the time stamp counter if it can be read.
void stop_clocks(Counter counter);

} // namespace memtrace::record::os
