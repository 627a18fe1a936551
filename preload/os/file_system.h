// Purpose: what sort of disk a directory is on, and whether it takes what is about to be written.
// Runs: when recording begins.
#pragma once

#include <cstdint>

namespace memtrace::record {

// In order of preference for the rings: a network file system may give no shared mapping, or SIGBUS when its
// server goes; what is in memory takes memory from the program, and goes with the node.
enum class Medium : std::uint8_t { disk, memory, network };

// Of an existing directory; one that cannot be asked is as good as a network file system.
Medium medium_of(const char* directory);

// 0 if the file at `fd`, empty, could have `bytes`; else a negative errno. It is empty afterwards.
long try_room(long fd, std::uint64_t bytes);

} // namespace memtrace::record
