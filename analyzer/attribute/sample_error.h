// Purpose: how likely a small block was to be drawn, so that what was drawn can stand for what was not.
#pragma once

#include <cmath>
#include <cstdint>

namespace memtrace::replay {

// By docs/trace-format.md. Blocks of no size, and a setting that draws every block: 1.
inline double chance(double given, std::uint32_t sample_bytes) {
  return given <= 0 || sample_bytes <= 1 ? 1 : -std::expm1(-given / sample_bytes);
}

// A damaged trace may hold sizes that add up to more than there are.
inline std::uint64_t rounded(double value) {
  constexpr double kMost = 9e18; // fits a signed figure, too
  return value < kMost ? static_cast<std::uint64_t>(std::llround(value)) : static_cast<std::uint64_t>(kMost);
}

} // namespace memtrace::replay
