// Purpose: a small table of address ranges; it adds and removes a range without a lock.
// Runs: on any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtrace::record {

struct NotedRange {
  std::uint64_t start; // 0: this entry is free
  std::uint64_t bytes;
  bool stays_behind; // MADV_DONTFORK: a forked child does not have the range
};

// A zero-initialised table is empty. If the table is full, note() does nothing.
template <std::size_t N>
class NotedRanges {
 public:
  void note(std::uint64_t start, std::uint64_t bytes) {
    for (NotedRange& range : ranges_) {
      std::uint64_t none = 0;
      if (!__atomic_compare_exchange_n(&range.start, &none, start, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        continue;
      __atomic_store_n(&range.bytes, bytes, __ATOMIC_RELEASE);
      return;
    }
  }

  void forget(std::uint64_t start) {
    NotedRange* const range = find(start);
    if (range == nullptr) return;
    range->bytes = 0;
    range->stays_behind = false;
    __atomic_store_n(&range->start, 0u, __ATOMIC_RELEASE);
  }

  // Returns null if `start` is not noted.
  NotedRange* find(std::uint64_t start) {
    for (NotedRange& range : ranges_)
      if (__atomic_load_n(&range.start, __ATOMIC_ACQUIRE) == start) return &range;
    return nullptr;
  }

  const NotedRange* begin() const { return ranges_; }
  const NotedRange* end() const { return ranges_ + N; }
  NotedRange* begin() { return ranges_; }
  NotedRange* end() { return ranges_ + N; }

 private:
  NotedRange ranges_[N] = {};
};

} // namespace memtrace::record
