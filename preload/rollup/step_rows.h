// Purpose: the rows of steps that are not over, in private memory, so that a bucket gets only whole steps.
// Runs: in the drain and, when its ring is full, on the program's thread.
#pragma once

#include "preload/rollup/block.h"
#include "preload/rollup/rollup_file.h"

namespace memtrace::rollup {

// One path of one step in one memory; the memory kResident has the figures of the samples. The key is one word:
// storing it in parts and reading it as a whole cost more than the rest of a search.
struct OpenRow {
  std::uint64_t key;  // step, path, memory
  std::uint32_t open; // occurrences that have not ended; the host's row counts for all memories
  bool skipped;
  bool stays;          // for publish()
  std::uint64_t ended; // occurrences that have ended
  std::int64_t figure[format::kFigures];

  static std::uint64_t key_of(const PhasePlace& place, std::uint8_t memory) {
    return std::uint64_t{place.step} << 32 | std::uint64_t{place.path} << 8 | memory;
  }
  StepId step() const { return static_cast<StepId>(key >> 32); }
  PathIndex path() const { return static_cast<PathIndex>(key >> 8); }
  std::uint8_t memory() const { return static_cast<std::uint8_t>(key); }
  std::int64_t& operator[](format::Figure which) { return figure[static_cast<std::size_t>(which)]; }
  std::uint64_t hash() const { return mix(key, 0); }
  bool same(const OpenRow& other) const { return key == other.key; }
};

class StepRows {
 public:
  // Returns nullptr if there is no room: one step may have 2,048 rows.
  OpenRow* row(const Host& host, const PhasePlace& place, std::uint8_t memory) {
    const std::uint64_t key = OpenRow::key_of(place, memory);
    OpenRow* const last = rows_.last();
    return last != nullptr && last->key == key ? last : other_row(host, key);
  }
  void flow(const Host& host, const PhasePlace& place, std::uint8_t memory, std::uint64_t allocated,
            std::uint64_t freed, std::uint64_t allocations) {
    OpenRow* const found = row(host, place, memory);
    if (found == nullptr) return;
    // The sums may wrap, because their sizes come from the program's memory.
    grow((*found)[format::Figure::allocated], allocated);
    grow((*found)[format::Figure::freed], freed);
    grow((*found)[format::Figure::allocations], allocations);
  }
  void born(const Host& host, const LedgerBlock& block, FileRows& file);

  // Writes the rows of steps other than `now` that have no open phase into the file. If there is no file, drops
  // them: such steps are in the trace file.
  void publish(StepId now, FileRows& file);
  void publish_all(FileRows& file);
  // Writes the rows of sites. They are sums, so this may happen at any time. It must happen before the window
  // with their births is dropped.
  void publish_sites(FileRows& file);
  // Moves the rows of steps later than `most` to `most`: a new fact shows that these steps do not count.
  void limit(StepId most);

  std::size_t bytes() const { return rows_.bytes() + sites_.bytes(); }

 private:
  struct SiteCells {
    std::uint64_t bucket; // its first step
    std::uint64_t where;  // stack, path
    std::uint64_t what;   // flags, memory, kind
    std::uint64_t count;
    std::uint64_t sum;
    std::uint64_t min;
    std::uint64_t max;
    std::uint64_t largest_in; // StepId of the block of `max` bytes

    std::uint64_t hash() const { return mix(where, bucket << 32 ^ what); }
    bool same(const SiteCells& other) const {
      return where == other.where && what == other.what && bucket == other.bucket;
    }
  };
  OpenRow* other_row(const Host& host, std::uint64_t key);
  bool is_open(std::uint64_t key);
  void put(const OpenRow& row, FileRows& file);
  void put(const SiteCells& site, FileRows& file);

  Dense<OpenRow, 128, 2048> rows_;
  Dense<SiteCells, 512, 8192> sites_;
  std::uint64_t bucket_ = 0; // of the current step
};

} // namespace memtrace::rollup
