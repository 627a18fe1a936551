// Purpose: reads the RSS of this process from the kernel's counters, in some us.
// Runs: on any thread.
#pragma once

#include <cstdint>

namespace memtrace::record {

struct Statm {            // 0: not known
  std::uint64_t resident; // bytes
  std::uint64_t shared;   // of files, and of shared memory
};
Statm statm();
Statm statm_counters(); // without the correction

// Sets the bytes that statm() adds to the counters from now on (kernel/rss_counters.h). May be called on any
// thread.
void correct_statm(std::int64_t anonymous, std::int64_t other);
Statm correction(); // modulo 2^64; `resident` includes `shared`

std::uint64_t resident_now(); // RSS, in bytes
// Returns a figure that RSS has not exceeded so far, by the kernel's counters. It takes a fifth of the time of
// statm(). Where the counters are not exact, it may be lower than statm() by their error.
std::uint64_t resident_at_most();

} // namespace memtrace::record
