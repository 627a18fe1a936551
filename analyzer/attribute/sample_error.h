// Purpose: the probability that a small block was sampled, from which sampled blocks represent the others.
#pragma once

#include <cmath>
#include <cstdint>

namespace memtrace::replay {

// Returns the probability that a block is sampled, by docs/trace-format.md. Returns 1 for a block of 0 bytes,
// or if the setting samples every block.
inline double chance(double given, std::uint32_t sample_bytes) {
  return given <= 0 || sample_bytes <= 1 ? 1 : -std::expm1(-given / sample_bytes);
}

// Returns `value` as an integer, at most kMost. The sizes in a damaged trace may add up to more.
inline std::uint64_t rounded(double value) {
  constexpr double kMost = 9e18; // also fits a signed figure
  return value < kMost ? static_cast<std::uint64_t>(std::llround(value)) : static_cast<std::uint64_t>(kMost);
}

} // namespace memtrace::replay
