// Purpose: an append-only table with ids from 1, searched by hash. Its memory is touched as it fills.
// Runs: inside the program's malloc, under the caller's lock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/os/mappings.h"

namespace memtrace::record {

// The index doubles as entries are added. If it were large from the beginning, every page of it would be
// touched, and 80,000 stacks would take 8 MiB of it. A slot of the index has an id and, in the bits that ids do
// not use, a part of the entry's hash, so that few entries are compared in vain.
template <class Entry, std::uint32_t Capacity>
class IdTable {
 public:
  // Returns the id of the entry with this hash for which `same(entry)` is true. If there is none, adds a zeroed
  // entry and returns its id; added() is then true. The caller must write the fields that `hash_of(entry)`
  // reads before the next call. Returns 0 if the table is full or memory is short.
  template <class Same, class HashOf>
  std::uint32_t find_or_add(std::uint64_t hash, Same same, HashOf hash_of) {
    added_ = false;
    if (!ready(hash_of)) return 0;
    const std::uint32_t tag = tag_of(hash);
    std::uint32_t at = start(hash, mask_);
    for (; index_[at] != 0; at = (at + 1) & mask_) {
      const std::uint32_t id = index_[at] & kIds;
      if ((index_[at] & ~kIds) == tag && same(entries_[id])) return id;
    }
    if (end_ >= Capacity) return 0;
    index_[at] = tag | end_;
    last_ = at;
    added_ = true;
    return end_++;
  }
  bool added() const { return added_; }
  // Removes the entry that was just added.
  void undo() {
    index_[last_] = 0;
    --end_;
    added_ = false;
  }
  Entry& at(std::uint32_t id) { return entries_[id]; }
  std::uint32_t end() const { return end_; } // ids are 1 to end - 1
  // Returns the bytes that were touched so far.
  std::uint64_t bytes() const {
    return index_ == nullptr ? 0 : end_ * sizeof(Entry) + (std::uint64_t{mask_} + 1) * sizeof *index_;
  }

 private:
  static constexpr std::uint32_t kIds = Capacity - 1; // the bits of a slot that hold an id
  static constexpr std::uint32_t kFirstSlots = Capacity < 512 ? 2 * Capacity : 1024;
  static_assert((Capacity & kIds) == 0 && Capacity <= 1u << 24);

  static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash) & ~kIds; }
  static std::uint32_t start(std::uint64_t hash, std::uint32_t mask) {
    return static_cast<std::uint32_t>(hash >> 32) & mask;
  }

  // True if there is an index with room for one more entry. Makes or grows the index if needed.
  template <class HashOf>
  bool ready(HashOf hash_of) {
    if (entries_ == nullptr) entries_ = static_cast<Entry*>(os::map_private(Capacity * sizeof(Entry)));
    if (entries_ == nullptr) return false;
    if (index_ != nullptr && 4 * std::uint64_t{end_} <= 3 * std::uint64_t{mask_}) return true;
    return grow(index_ == nullptr ? kFirstSlots : 2 * (mask_ + 1), hash_of) ||
           (index_ != nullptr && end_ < mask_);
  }

  template <class HashOf>
  bool grow(std::uint32_t slots, HashOf hash_of) {
    auto* const larger = static_cast<std::uint32_t*>(os::map_private(slots * sizeof *index_));
    if (larger == nullptr) return false;
    for (std::uint32_t id = 1; id < end_; ++id) {
      const std::uint64_t hash = hash_of(entries_[id]);
      std::uint32_t at = start(hash, slots - 1);
      while (larger[at] != 0) at = (at + 1) & (slots - 1);
      larger[at] = tag_of(hash) | id;
    }
    if (index_ != nullptr) os::unmap(index_, (std::size_t{mask_} + 1) * sizeof *index_);
    index_ = larger;
    mask_ = slots - 1;
    return true;
  }

  std::uint32_t* index_ = nullptr; // 0: empty
  Entry* entries_ = nullptr;
  std::uint32_t mask_ = 0;
  std::uint32_t end_ = 1;
  std::uint32_t last_ = 0;
  bool added_ = false;
};

} // namespace memtrace::record
