// Purpose: puts the births and deaths inside the windows into the order of the run. A block is known only when
// it dies, so its birth comes late.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/timeline/stored_blocks.h"

namespace memtrace::replay {

struct EventTime {
  trace::Ordinal at = 0;
  format::Stamp stamp = 0;
};

class RowOrder {
 public:
  // `exact`: events after which every level must be exact, also by small blocks; ascending. The next row is at
  // least 1 ns later, so that a reader finds the level by the time in BlockRows::exact.
  RowOrder(const std::vector<RowWindow>& windows, const std::vector<trace::Ordinal>& exact)
      : windows_(windows), exact_(exact), begin_(windows.size()) {}

  bool is_inside(trace::Ordinal at) const;
  // True if the birth or the death is in a window.
  bool touches(trace::Ordinal birth, trace::Ordinal death) const {
    return is_inside(birth) || is_inside(death);
  }

  // Adds a block of class `klass`.
  void add(std::uint32_t klass, const EventTime& birth, const EventTime& death);
  // Takes the bytes of the host's `live` that have no row, after an event in a window.
  void small(const EventTime& after, std::int64_t bytes);
  // As above, after event `at`. Keeps them if a window begins with the next event.
  void before_window(trace::Ordinal at, std::int64_t bytes);

  // Sets the rows, the spans and the times of exact events.
  void take(BlockRows& out);

 private:
  struct BlockChange {
    trace::Ordinal at;
    format::Stamp stamp;
    std::uint32_t klass;
    std::uint32_t block; // number of the block: the same for its birth and its death
    bool death;
    bool older; // a death of a block that is older than the window
  };
  struct SmallPoint {
    trace::Ordinal at;
    format::Stamp stamp;
    std::int64_t bytes;
  };
  class Writer;

  const RowWindow* window_of(trace::Ordinal at) const;

  const std::vector<RowWindow>& windows_;
  const std::vector<trace::Ordinal>& exact_;
  std::vector<BlockChange> changes_;
  std::vector<SmallPoint> small_;   // in order; equal neighbours are one
  std::vector<std::int64_t> begin_; // by window: the small bytes before it
  bool fresh_ = true;               // no point since the window began
  std::uint32_t blocks_ = 0;
};

} // namespace memtrace::replay
