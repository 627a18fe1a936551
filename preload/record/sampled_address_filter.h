// Purpose: excludes most addresses that are not tracked, by one load.
// Runs: inside every free.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record {

// Each byte counts the tracked blocks that begin in 512 bytes of address space; many such ranges share a byte.
// False positives are possible; there are no false negatives. With 512, the bytes for a program's whole small
// heap stay in the cache.
inline constexpr unsigned kFilterShift = 9;
inline constexpr std::size_t kFilterBytes = 128 * 1024;
inline constexpr std::uint8_t kFilterPinned = 255; // this count no longer changes
[[gnu::visibility("hidden")]] extern constinit std::uint8_t tracked_filter[kFilterBytes];

inline std::uint8_t& filter_byte(std::uint64_t address) {
  return tracked_filter[(address >> kFilterShift) % kFilterBytes];
}
inline bool maybe_tracked(const void* p) {
  bool maybe; // one instruction, because it runs in every free
  asm("cmpb $0, %1" : "=@ccne"(maybe) : "m"(filter_byte(reinterpret_cast<std::uint64_t>(p))));
  return maybe;
}

void filter_add(std::uint64_t address);
void filter_remove(std::uint64_t address);
// Makes maybe_tracked() true for this address for ever.
void filter_pin(std::uint64_t address);
// Clears all counts that are not pinned. No thread may add or remove meanwhile.
void filter_reset();

} // namespace memtrace::record
