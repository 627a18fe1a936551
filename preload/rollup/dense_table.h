// Purpose: a bounded table of rows, found by hash and stored densely, so that a walk costs only its rows.
// Runs: in the drain and, when its ring is full, on the program's thread.
#pragma once

#include <cstring>

#include "preload/rollup/host_interface.h"

namespace memtrace::rollup {

// Returns a multiplicative hash with the high half folded in: neighbours in either field get distant values.
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t hash = (a ^ b * 0xD1B54A32D192ED03u) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 32;
}

// An array that doubles its capacity up to `most`. New entries are zero. Growth may move the array, but does
// not copy it: zeroing the pages of a second table took a tenth of the time that recording every block takes.
// The recorder copies it once, when it becomes large enough for huge pages (trace/table_memory.cpp).
template <class Entry>
struct Growing {
  Entry* at = nullptr;
  std::uint32_t capacity = 0;

  bool grow(const Host& host, std::uint32_t first, std::uint32_t most) {
    const std::uint32_t wanted = capacity == 0 ? first : capacity * 2;
    if (wanted > most) return false;
    void* const memory =
        at == nullptr ? host.map(wanted * sizeof(Entry)) : host.extend(at, bytes(), wanted * sizeof(Entry));
    auto* const next = static_cast<Entry*>(memory);
    if (next == nullptr) return false;
    at = next;
    capacity = wanted;
    return true;
  }
  std::size_t bytes() const { return capacity * sizeof(Entry); }
};

// `Row` has hash() and same(const Row&) over its key. Pointers to rows are valid until the next add.
template <class Row, std::uint32_t First, std::uint32_t Most>
class Dense {
 public:
  Row* find(const Row& key) {
    if (last_ < used_ && rows_.at[last_].same(key)) return &rows_.at[last_];
    if (used_ == 0) return nullptr;
    for (std::uint32_t at = start(key); index_.at[at] != 0; at = (at + 1) & mask())
      if (rows_.at[index_.at[at] - 1].same(key)) {
        last_ = index_.at[at] - 1;
        return &rows_.at[last_];
      }
    return nullptr;
  }

  // Returns the row that was found last; nullptr if there is none.
  Row* last() { return last_ < used_ ? &rows_.at[last_] : nullptr; }

  // Returns the row of `key`; adds a copy of `key` if there is none. Returns nullptr if there is no room.
  Row* find_or_add(const Host& host, const Row& key) {
    Row* const found = find(key);
    return found != nullptr ? found : add(host, key);
  }
  // Adds a row whose key has no row yet. Returns nullptr if there is no room.
  Row* add(const Host& host, const Row& key) {
    if (used_ == rows_.capacity && !grow(host)) return nullptr;
    rows_.at[used_] = key;
    last_ = used_++;
    enter(last_);
    return &rows_.at[last_];
  }

  // Drops the rows for which `keep` is false. `keep` must not search.
  template <class Keep>
  void keep_if(Keep keep) {
    const std::uint32_t before = used_;
    clear_index();
    used_ = 0;
    for (std::uint32_t i = 0; i < before; ++i) {
      if (!keep(rows_.at[i])) continue;
      if (used_ != i) rows_.at[used_] = rows_.at[i];
      ++used_;
    }
    last_ = 0;
    enter_all();
  }

  // Enters all rows again, after their keys were changed.
  void index_again() {
    if (index_.at != nullptr) std::memset(index_.at, 0, index_.bytes());
    last_ = 0;
    enter_all();
  }

  std::uint32_t size() const { return used_; }
  Row& operator[](std::uint32_t i) { return rows_.at[i]; }
  const Row& operator[](std::uint32_t i) const { return rows_.at[i]; }
  std::size_t bytes() const { return rows_.bytes() + index_.bytes(); }

 private:
  std::uint32_t mask() const { return index_.capacity - 1; }
  std::uint32_t start(const Row& key) const { return static_cast<std::uint32_t>(key.hash()) & mask(); }

  void enter(std::uint32_t i) {
    std::uint32_t at = start(rows_.at[i]);
    while (index_.at[at] != 0) at = (at + 1) & mask();
    index_.at[at] = i + 1;
  }
  void enter_all() {
    for (std::uint32_t i = 0; i < used_; ++i) enter(i);
  }
  // Empties the index. If there are few rows, clears only the runs of full places in which they are: one step
  // of the program has few rows.
  void clear_index() {
    if (used_ > index_.capacity / 32) {
      std::memset(index_.at, 0, index_.bytes());
      return;
    }
    for (std::uint32_t i = 0; i < used_; ++i)
      for (std::uint32_t at = start(rows_.at[i]); index_.at[at] != 0; at = (at + 1) & mask()) index_.at[at] = 0;
  }
  bool grow(const Host& host) {
    if (index_.capacity < 2 * Most && !index_.grow(host, 2 * First, 2 * Most)) return false;
    index_again(); // a place depends on the capacity
    return rows_.grow(host, First, Most);
  }

  Growing<Row> rows_;
  Growing<std::uint32_t> index_; // 0: empty, else index of the row + 1
  std::uint32_t used_ = 0;
  std::uint32_t last_ = 0; // the last row found: most searches repeat at once
};

} // namespace memtrace::rollup
