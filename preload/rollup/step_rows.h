// Purpose: the rows of steps that are not over, in private memory, so that a bucket gets whole steps.
// Runs: in the drain and, when its ring is full, on the program's thread.
#pragma once

#include "preload/rollup/block.h"
#include "preload/rollup/rollup_file.h"

namespace memtrace::rollup {

// One path of one step in one memory, kResident for what the samples say. The key is a word: one that is stored
// in parts and read as a whole costs more than all the rest of a look-up.
struct OpenRow {
  std::uint64_t key;  // step, path, memory
  std::uint32_t open; // occurrences that have not ended: of the host's row, for all memories
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
  // Null when there is no room: 2,048 rows of one step.
  OpenRow* row(const Host& host, const PhasePlace& place, std::uint8_t memory);
  void flow(const Host& host, const PhasePlace& place, std::uint8_t memory, std::uint64_t allocated,
            std::uint64_t freed, std::uint64_t allocations);
  void born(const Host& host, const LedgerBlock& block, FileRows& file);

  // Rows of other steps than `now` in which nothing is open go into the file, or, while there is none, nowhere:
  // such steps are in the trace file.
  void publish(StepId now, FileRows& file);
  void publish_all(FileRows& file);
  // Sites only ever add up: they may go at any time, and must before the window goes that has their births.
  void publish_sites(FileRows& file);
  // Every step later than `most` was none: what was seen since says that steps are counted otherwise.
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

    std::uint64_t hash() const { return mix(where, bucket << 32 ^ what); }
    bool same(const SiteCells& other) const {
      return where == other.where && what == other.what && bucket == other.bucket;
    }
  };
  bool is_open(std::uint64_t key);
  void put(const OpenRow& row, FileRows& file);
  void put(const SiteCells& site, FileRows& file);

  Dense<OpenRow, 128, 2048> rows_;
  Dense<SiteCells, 512, 8192> sites_;
  std::uint64_t bucket_ = 0; // of the current step
};

} // namespace memtrace::rollup
