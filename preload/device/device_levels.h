// Purpose: the live bytes of each device, so that a GPU is asked when more is live than ever before.
// Runs: inside the calls of CUDA's runtime and driver.
#pragma once

#include <cstdint>

namespace memtrace::record {

inline constexpr unsigned kMemories = 256; // the host and 255 devices: a byte of a record's flags

// Adds `bytes`, negative for a death, to the level of a device. Does nothing for the host, memory 0. Any
// thread.
void change_device_level(unsigned memory, std::int64_t bytes);

// Returns how often the level of any device rose above its highest so far.
std::uint64_t device_peaks();

} // namespace memtrace::record
