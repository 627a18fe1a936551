// Purpose: finds the medium of a directory (disk, memory or network), and tests whether a file there can grow.
// Runs: when recording begins.
#pragma once

#include <cstdint>

namespace memtrace::record {

// In order of preference for the ring file. A network file system may not support shared mappings, or may raise
// SIGBUS when its server fails. A file in memory takes memory from the program, and is lost if the host fails.
enum class Medium : std::uint8_t { disk, memory, network };

// Returns the medium of an existing directory. If the kernel does not tell it, returns Medium::network.
Medium medium_of(const char* directory);

// Returns 0 if the empty file `fd` can grow to `bytes`, else a negative errno. The file is empty afterwards.
long try_room(long fd, std::uint64_t bytes);

} // namespace memtrace::record
