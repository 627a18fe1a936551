// Purpose: which mappings the rough level counts, so that a munmap takes off what its mmap put on.
// Runs: inside the program's mmap and munmap.
#pragma once

#include <cstdint>

namespace memtrace::record {

// The level decides only when recording begins; the fold of the trace has the exact figure. So the table is
// small and forgets: a mapping that finds no room is not counted, and one unmapped in parts stays counted until
// its address is used again. Returns the bytes to add to the level (less than `bytes` when an older entry at
// this address goes).
std::int64_t count_mapping(std::uint64_t address, std::uint64_t bytes);
// Returns the bytes to take off the level: 0 unless exactly this mapping was counted.
std::int64_t uncount_mapping(std::uint64_t address, std::uint64_t bytes);

} // namespace memtrace::record
