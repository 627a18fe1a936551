// Room: record. Runs inside the victim's malloc, under the caller's lock.
// Job: an append-only table with ids from 1, found by hash; its memory is touched as it fills, never given
// back.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record/os.h"

namespace memtrace::record {

template <class Entry, std::uint32_t Capacity>
class Table {
 public:
  // The id of the entry for which `same(entry)` holds among those with this hash; else of a new, zeroed one,
  // and added() is true. 0: the table is full or memory is short.
  template <class Same>
  std::uint32_t find_or_add(std::uint64_t hash, Same same) {
    added_ = false;
    if (!ready()) return 0;
    std::uint32_t at = static_cast<std::uint32_t>(hash) & kMask;
    const auto tag = static_cast<std::uint32_t>(hash >> 32);
    for (; index_[at].id != 0; at = (at + 1) & kMask)
      if (index_[at].tag == tag && same(entries_[index_[at].id])) return index_[at].id;
    if (end_ >= Capacity) return 0;
    index_[at] = {end_, tag};
    last_ = at;
    added_ = true;
    return end_++;
  }
  bool added() const { return added_; }
  // Takes back the entry just added.
  void undo() {
    index_[last_].id = 0;
    --end_;
    added_ = false;
  }
  Entry& at(std::uint32_t id) { return entries_[id]; }
  std::uint32_t end() const { return end_; } // ids are 1 to end - 1
  // Touched so far: the index is, all over, when a page's worth of entries is there.
  std::uint64_t bytes() const {
    const std::uint64_t index = kSlots * sizeof(Slot), pages = std::uint64_t{end_} * 4096;
    return index_ == nullptr ? 0 : end_ * sizeof(Entry) + (pages < index ? pages : index);
  }

 private:
  struct Slot {
    std::uint32_t id;
    std::uint32_t tag;
  };
  static constexpr std::uint32_t kSlots = 2 * Capacity;
  static constexpr std::uint32_t kMask = kSlots - 1;
  static_assert((kSlots & kMask) == 0);

  bool ready() {
    if (index_ != nullptr) return true;
    auto* const memory = static_cast<char*>(os::map_private(kSlots * sizeof(Slot) + Capacity * sizeof(Entry)));
    if (memory == nullptr) return false;
    entries_ = reinterpret_cast<Entry*>(memory + kSlots * sizeof(Slot));
    index_ = reinterpret_cast<Slot*>(memory);
    return true;
  }

  Slot* index_ = nullptr;
  Entry* entries_ = nullptr;
  std::uint32_t end_ = 1;
  std::uint32_t last_ = 0;
  bool added_ = false;
};

} // namespace memtrace::record
