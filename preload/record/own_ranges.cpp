// Room: record. Runs on any thread.
// Job: which private mappings are the recorder's own: the kernel merges them with the program's next to them.
#include "record/own_ranges.h"

namespace memtrace::record {
namespace {

constinit OwnRange ranges[kOwnRanges] = {};

OwnRange* find(const void* address) {
  const auto start = reinterpret_cast<std::uint64_t>(address);
  for (OwnRange& range : ranges)
    if (__atomic_load_n(&range.start, __ATOMIC_ACQUIRE) == start) return &range;
  return nullptr;
}

} // namespace

void note_own(const void* address, std::size_t bytes) {
  const auto start = reinterpret_cast<std::uint64_t>(address);
  for (OwnRange& range : ranges) {
    std::uint64_t none = 0;
    if (!__atomic_compare_exchange_n(&range.start, &none, start, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      continue;
    __atomic_store_n(&range.bytes, bytes, __ATOMIC_RELEASE);
    return;
  }
}

void forget_own(const void* address) {
  if (OwnRange* const range = find(address); range != nullptr) {
    range->bytes = 0;
    range->stays_behind = false;
    __atomic_store_n(&range->start, 0u, __ATOMIC_RELEASE);
  }
}

void own_stays_behind(const void* address) {
  if (OwnRange* const range = find(address); range != nullptr) range->stays_behind = true;
}

void forget_own_of_parent() {
  for (OwnRange& range : ranges)
    if (range.stays_behind) range = {};
}

const OwnRange* own_ranges() {
  return ranges;
}

} // namespace memtrace::record
