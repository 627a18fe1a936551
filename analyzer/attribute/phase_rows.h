// Purpose: the rows of all steps, packed: a run of 100,000 steps has a million rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "analyzer/replay/live_blocks.h"

namespace memtrace::replay {

// One measure of one memory in one row, in bytes. The contract defines entry, exit and the other figures.
struct Figures {
  std::int64_t entry = 0;
  std::int64_t exit = 0;
  std::int64_t peak = 0;
  std::int64_t transient = 0;
  std::int64_t net = 0;
  trace::Ordinal peak_at = 0; // just after this event; 0: before the first event
};

// In place of a figure of `used`: the GPU was not asked, or memory came or went after it was asked.
inline constexpr std::int64_t kNotShown = -1;

struct MemoryRow {
  Figures live;
  Figures tensor;
  Figures reserved;                              // of a device, as its allocator reported it
  Figures used{kNotShown, kNotShown, kNotShown}; // of a GPU, as it reported it
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
  std::uint64_t began = 0;       // number among all rows, in the order in which they began
  std::uint64_t count = 0;       // occurrences; 0 for `other`
  bool skipped = false;          // an optimizer step that did not update
  bool partial = false;          // it was open in a gap between windows: its levels are from the recorded part
  bool again = false;            // of a part of a row: its first occurrence began in an earlier part
  trace::Ordinal entered = 0;    // just after this event, the first occurrence began
  trace::Ordinal left = 0;       // just after this event, the last occurrence ended
  std::vector<MemoryRow> memory; // by MemoryId, up to the last one used
  std::optional<ResidentSpan> rss;

  const MemoryRow& of(MemoryId id) const;
};

// Rows are stored as differences to the previous row of their path, which is mostly similar: about 40 bytes
// each instead of 400. They are read one at a time, in the order in which they were added.
class Rows {
 public:
  void add(const Row& row);
  std::size_t size() const { return size_; }

  class Iterator {
   public:
    Iterator(Iterator&&) = default; // not copied: it holds the current row
    Iterator& operator=(Iterator&&) = default;

    const Row& operator*() const { return *row_; }
    Iterator& operator++();
    bool operator==(const Iterator& other) const { return left_ == other.left_; }

   private:
    friend class Rows;
    Iterator(const std::deque<std::uint8_t>::const_iterator& at, std::size_t left);
    void decode();

    std::deque<std::uint8_t>::const_iterator at_;
    std::size_t left_; // rows, the current one included
    std::unordered_map<PathId, Row> last_;
    const Row* row_ = nullptr;
  };
  Iterator begin() const { return {coded_.begin(), size_}; }
  Iterator end() const { return {coded_.end(), 0}; }

 private:
  std::deque<std::uint8_t> coded_;
  std::size_t size_ = 0;
  std::unordered_map<PathId, Row> last_; // row of each path
};

// Returns the higher of two peaks of `used`. If one is not known, the higher one is not.
inline std::int64_t higher_use(std::int64_t a, std::int64_t b) {
  return a == kNotShown || b == kNotShown ? kNotShown : std::max(a, b);
}

// Joins two parts of one row. `row` is the earlier part and becomes the whole.
void join(Row& row, const Row& later);

} // namespace memtrace::replay
