// Room: record. On any thread.
// Job: how much of this process is in memory, as the kernel counts it: a look of some us.
#pragma once

#include <cstdint>

namespace memtrace::record {

struct Statm {            // 0: the kernel does not say
  std::uint64_t resident; // bytes
  std::uint64_t shared;   // of files, and of shared memory
};
Statm statm();

std::uint64_t resident_now(); // RSS, in bytes

} // namespace memtrace::record
