// Purpose: the rows of all steps, packed: a run of 100,000 steps has a million of them.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analyzer/replay/live_blocks.h"

namespace memtrace::replay {

// One measure of one memory in one row, in bytes. See the contract for what entry, exit, ... are.
struct Figures {
  std::int64_t entry = 0;
  std::int64_t exit = 0;
  std::int64_t peak = 0;
  std::int64_t transient = 0;
  std::int64_t net = 0;
  trace::Ordinal peak_at = 0; // after this event; 0: before the first
};

struct MemoryRow {
  Figures live;
  Figures tensor;
  Figures reserved; // of a device, as its allocator said
  Figures used;     // of a device, as the card shows it, when it was asked
  std::uint64_t allocated = 0;
  std::uint64_t freed = 0;
  std::uint64_t allocations = 0;
};

struct Resident { // bytes, from samples
  std::uint64_t anon = 0;
  std::uint64_t file = 0;
  std::uint64_t shmem = 0;
  std::uint64_t sum() const { return anon + file + shmem; }
};

struct ResidentSpan {
  Resident entry;
  Resident exit;
  Resident peak;
};

// All occurrences of one path in one step.
struct Row {
  PathId path = PathId::other;
  Step step = Step::none;
  std::uint64_t began = 0;       // place among all rows, by what they began with
  std::uint64_t count = 0;       // occurrences; 0 for `other`
  bool skipped = false;          // an optimizer step that did not update
  bool partial = false;          // it was open in a gap between windows: levels are those that were seen
  bool again = false;            // of a part of a row: its first occurrence is one of an earlier part
  std::vector<MemoryRow> memory; // by MemoryId, as far as any was used
  std::optional<ResidentSpan> rss;

  const MemoryRow& of(MemoryId id) const;
};

// Rows are written as differences to the last one of their path, which is most often nearly the same: some 40
// bytes each instead of 400. They come back one at a time, in the order in which they were added.
class Rows {
 public:
  void add(const Row& row);
  std::size_t size() const { return size_; }

  class Iterator {
   public:
    Iterator(Iterator&&) = default; // not copied: it holds the row it shows
    Iterator& operator=(Iterator&&) = default;

    const Row& operator*() const { return *row_; }
    Iterator& operator++();
    bool operator==(const Iterator& other) const { return left_ == other.left_; }

   private:
    friend class Rows;
    Iterator(const std::deque<std::uint8_t>::const_iterator& at, std::size_t left);
    void decode();

    std::deque<std::uint8_t>::const_iterator at_;
    std::size_t left_; // rows, the one shown among them
    std::unordered_map<PathId, Row> last_;
    const Row* row_ = nullptr;
  };
  Iterator begin() const { return {coded_.begin(), size_}; }
  Iterator end() const { return {coded_.end(), 0}; }

 private:
  std::deque<std::uint8_t> coded_;
  std::size_t size_ = 0;
  std::unordered_map<PathId, Row> last_; // of each path
};

// Makes of two parts of one row, the later one second, the whole.
void join(Row& row, const Row& later);

} // namespace memtrace::replay
