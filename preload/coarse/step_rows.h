// Room: coarse. Runs in the drain and, when its ring is full, on the victim's thread.
// Job: the rows of steps that are not over, in private memory, so that a bucket gets whole steps.
#pragma once

#include "coarse/block.h"
#include "coarse/file_rows.h"

namespace memtrace::coarse {

// One path of one step in one memory, kResident for what the samples say.
struct OpenRow {
  Place place;
  std::uint8_t memory;
  bool skipped;
  bool stays;          // for publish()
  std::uint32_t open;  // occurrences that have not ended: of the host's row, for all memories
  std::uint64_t ended; // and those that have
  std::int64_t figure[format::kFigures];

  std::int64_t& operator[](format::Figure which) { return figure[static_cast<std::size_t>(which)]; }
  std::uint64_t hash() const { return mix(place.step, std::uint64_t{place.path} << 8 | memory); }
  bool same(const OpenRow& other) const {
    return place.step == other.place.step && place.path == other.place.path && memory == other.memory;
  }
};

class StepRows {
 public:
  // Null when there is no room: 2,048 rows of one step.
  OpenRow* row(const Host& host, const Place& place, std::uint8_t memory);
  void flow(const Host& host, const Place& place, std::uint8_t memory, std::uint64_t allocated,
            std::uint64_t freed, std::uint64_t allocations);
  void born(const Host& host, const Block& block, FileRows& file);

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
  struct Site {
    format::SiteRow row; // `bucket`: the step
    std::uint64_t hash() const {
      return mix(std::uint64_t{row.path} << 32 | row.stack,
                 row.bucket << 24 ^ std::uint64_t{row.flags} << 16 ^ std::uint64_t{row.kind} << 8 ^ row.memory);
    }
    bool same(const Site& other) const {
      return row.stack == other.row.stack && row.path == other.row.path && row.kind == other.row.kind &&
             row.flags == other.row.flags && row.memory == other.row.memory && row.bucket == other.row.bucket;
    }
  };
  bool is_open(const Place& place);
  void put(const OpenRow& row, FileRows& file);

  Dense<OpenRow, 128, 2048> rows_;
  Dense<Site, 512, 8192> sites_;
  std::uint64_t bucket_ = 0; // of the current step
};

} // namespace memtrace::coarse
