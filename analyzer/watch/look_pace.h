// Purpose: how soon limits must be read again, from the bytes that are left until the nearest one counts as
// near. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace memtrace::watch {

inline constexpr std::uint64_t kShortestLookNs = 1'000'000;
inline constexpr std::uint64_t kLongestLookNs = 100'000'000;
// Bytes per ns that a program may begin to touch at any time (preload/kernel/growth.h).
inline constexpr std::uint64_t kFastestGrowth = 32;
inline constexpr std::uint64_t kLookShare = 100; // one part of the time goes to reading, at most

// Returns the pause in ns. `until_near`: bytes; ~0: no limit is known. `cost`: CPU time of a reading in ns.
constexpr std::uint64_t look_pause(std::uint64_t until_near, std::uint64_t cost) {
  const std::uint64_t by_distance = std::clamp(until_near / kFastestGrowth, kShortestLookNs, kLongestLookNs);
  return std::min(std::max(by_distance, cost * kLookShare), kLongestLookNs);
}

} // namespace memtrace::watch
