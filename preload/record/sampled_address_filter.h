// Purpose: one load that says of most addresses: not remembered.
// Runs: inside every free.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record {

// A byte for each 512 bytes of address space, many of them on one byte: how many remembered blocks begin there.
// It may say maybe wrongly, never no. 512, so that the bytes of a program's whole small heap stay in the cache.
inline constexpr unsigned kFilterShift = 9;
inline constexpr std::size_t kFilterBytes = 128 * 1024;
inline constexpr std::uint8_t kFilterPinned = 255; // counted no further, in either direction
[[gnu::visibility("hidden")]] extern constinit std::uint8_t tracked_filter[kFilterBytes];

inline std::uint8_t& filter_byte(std::uint64_t address) {
  return tracked_filter[(address >> kFilterShift) % kFilterBytes];
}
inline bool maybe_tracked(const void* p) {
  return __atomic_load_n(&filter_byte(reinterpret_cast<std::uint64_t>(p)), __ATOMIC_RELAXED) != 0;
}

void filter_add(std::uint64_t address);
void filter_remove(std::uint64_t address);
// Maybe for ever.
void filter_pin(std::uint64_t address);
// Only what is pinned stays. Nobody adds or removes meanwhile.
void filter_reset();

} // namespace memtrace::record
