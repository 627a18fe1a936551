// Purpose: excludes most addresses that are not tracked, by one load.
// Runs: on the path of tracked blocks.
#include "preload/record/sampled_address_filter.h"

namespace memtrace::record {

alignas(64) constinit std::uint8_t tracked_filter[kFilterBytes] = {};

namespace {

// Changes the count of the address's byte. A pinned byte stays. A byte that is 0 is not lowered: this occurs
// only if a fork came between a block and its count.
void count(std::uint64_t address, int change) {
  std::uint8_t* const byte = &filter_byte(address);
  std::uint8_t was = __atomic_load_n(byte, __ATOMIC_RELAXED);
  do {
    if (was == kFilterPinned || (was == 0 && change < 0)) return;
  } while (!__atomic_compare_exchange_n(byte, &was, static_cast<std::uint8_t>(was + change), true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

} // namespace

void filter_add(std::uint64_t address) {
  count(address, 1);
}
void filter_remove(std::uint64_t address) {
  count(address, -1);
}
void filter_pin(std::uint64_t address) {
  __atomic_store_n(&filter_byte(address), kFilterPinned, __ATOMIC_RELAXED);
}

void filter_reset() {
  for (std::uint8_t& byte : tracked_filter) // pages that are only read stay shared with the parent
    if (byte != 0 && byte != kFilterPinned) __atomic_store_n(&byte, std::uint8_t{0}, __ATOMIC_RELAXED);
}

} // namespace memtrace::record
