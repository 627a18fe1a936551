// Room: record. Runs inside the victim's malloc, under the caller's lock.
// Job: an append-only table with ids from 1, found by hash; its memory is touched as it fills.
#pragma once

#include <cstddef>
#include <cstdint>

#include "record/os.h"

namespace memtrace::record {

// The index doubles as entries come: of one that is large from the beginning every page would be touched, and
// 80,000 stacks would hold 8 MiB of it.
template <class Entry, std::uint32_t Capacity>
class Table {
 public:
  // The id of the entry for which `same(entry)` holds among those with this hash; else of a new, zeroed one,
  // and added() is true. 0: the table is full or memory is short.
  template <class Same>
  std::uint32_t find_or_add(std::uint64_t hash, Same same) {
    added_ = false;
    if (!ready()) return 0;
    const auto tag = static_cast<std::uint32_t>(hash >> 32);
    std::uint32_t at = tag & mask_;
    for (; index_[at].id != 0; at = (at + 1) & mask_)
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
  // Touched so far.
  std::uint64_t bytes() const {
    return index_ == nullptr ? 0 : end_ * sizeof(Entry) + (std::uint64_t{mask_} + 1) * sizeof(Slot);
  }

 private:
  struct Slot {
    std::uint32_t id;
    std::uint32_t tag; // its low bits say where it would be
  };
  static constexpr std::uint32_t kFirstSlots = Capacity < 512 ? 2 * Capacity : 1024;
  static_assert((Capacity & (Capacity - 1)) == 0);

  // There is an index with room for one more entry.
  bool ready() {
    if (entries_ == nullptr) entries_ = static_cast<Entry*>(os::map_private(Capacity * sizeof(Entry)));
    if (entries_ == nullptr) return false;
    if (index_ != nullptr && 4 * std::uint64_t{end_} <= 3 * std::uint64_t{mask_}) return true;
    return grow(index_ == nullptr ? kFirstSlots : 2 * (mask_ + 1)) || (index_ != nullptr && end_ < mask_);
  }

  bool grow(std::uint32_t slots) {
    auto* const larger = static_cast<Slot*>(os::map_private(slots * sizeof(Slot)));
    if (larger == nullptr) return false;
    for (std::uint32_t i = 0; index_ != nullptr && i <= mask_; ++i) {
      if (index_[i].id == 0) continue;
      std::uint32_t at = index_[i].tag & (slots - 1);
      while (larger[at].id != 0) at = (at + 1) & (slots - 1);
      larger[at] = index_[i];
    }
    if (index_ != nullptr) os::unmap(index_, (std::size_t{mask_} + 1) * sizeof(Slot));
    index_ = larger;
    mask_ = slots - 1;
    return true;
  }

  Slot* index_ = nullptr;
  Entry* entries_ = nullptr;
  std::uint32_t mask_ = 0;
  std::uint32_t end_ = 1;
  std::uint32_t last_ = 0;
  bool added_ = false;
};

} // namespace memtrace::record
