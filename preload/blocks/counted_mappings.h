// Purpose: remembers the mappings that the rough level counts, so that munmap subtracts the bytes that mmap
// added.
// Runs: inside the program's mmap and munmap.
#pragma once

#include <cstdint>

namespace memtrace::record {

// Returns the bytes to add to the level: less than `bytes` if an older entry at this address is replaced. The
// level only decides when recording begins; the rollup has the exact figure. So the table is small. A mapping
// that finds no room is not counted. A mapping that is unmapped in parts stays counted until its address is
// used again.
std::int64_t count_mapping(std::uint64_t address, std::uint64_t bytes);
// Returns the bytes to subtract from the level: 0 unless exactly this mapping was counted.
std::int64_t uncount_mapping(std::uint64_t address, std::uint64_t bytes);

} // namespace memtrace::record
