// Purpose: how much of this process is in memory, as the kernel counts it: a look of some us.
// Runs: on any thread.
#pragma once

#include <cstdint>

namespace memtrace::record {

struct Statm {            // 0: the kernel does not say
  std::uint64_t resident; // bytes
  std::uint64_t shared;   // of files, and of shared memory
};
Statm statm();
Statm statm_counters(); // without the correction

// What is to be added to the counters from now on (kernel/rss_counters.h). Any thread.
void correct_statm(std::int64_t anonymous, std::int64_t other);
Statm correction(); // modulo 2^64, `resident` with `shared`

std::uint64_t resident_now(); // RSS, in bytes

} // namespace memtrace::record
