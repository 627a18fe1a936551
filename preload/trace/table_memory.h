// Purpose: the memory of the rollup's tables.
// Runs: in the drain and, when its ring is full, on the program's thread.
#pragma once

#include <cstddef>

namespace memtrace::record {

// Returns `bytes` of zeroed memory that a forked child does not get. Returns nullptr if the kernel has none.
// From 1 MiB on, it asks the kernel for huge pages.
void* map_table(std::size_t bytes);

// Returns the memory with zeroed bytes behind it, `wanted` in all, maybe at another address. Returns nullptr if
// the kernel has none; then the memory is unchanged.
void* extend_table(void* memory, std::size_t bytes, std::size_t wanted);

} // namespace memtrace::record
