// Purpose: the whole run in a bounded number of bins, each with the highest level of every lane.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/timeline/lane.h"

namespace memtrace::replay {

// One lane in one bin.
struct LaneBin {
  std::int64_t max = 0;
  trace::Ordinal max_at = 0; // just after this event: the first instant of `max`
  format::Stamp max_stamp = 0;
  std::int64_t min = 0;
  std::int64_t last = 0;
};

// Consecutive events. A gap in the trace is between two bins.
struct Bin {
  trace::Ordinal first = 0, last = 0; // events
  format::Stamp start = 0, end = 0;   // of these events
  std::uint64_t births = 0;
  std::uint64_t blocks = 0;  // births and deaths
  std::uint64_t changes = 0; // events that changed a level
  bool after_gap = false;
};

// The bins have equal numbers of changes, not equal times: training has hours of nothing and microseconds with
// thousands of events. If there are too many bins, each two become one.
class LevelBins {
 public:
  LevelBins(std::size_t lanes, std::size_t most_bins) : lanes_(lanes), most_(most_bins) {}

  struct Blocks {
    std::uint64_t births = 0, deaths = 0;
  };
  // Adds an event that changed a level. `levels`: of each lane, after the event.
  void add(trace::Ordinal at, format::Stamp stamp, const Blocks& blocks,
           const std::vector<std::int64_t>& levels);
  // The next event is after a gap.
  void gap() { gap_ = true; }

  const std::vector<Bin>& bins() const { return bins_; }
  const LaneBin& of(std::size_t bin, std::size_t lane) const { return values_[bin * lanes_ + lane]; }

 private:
  void begin(trace::Ordinal at, format::Stamp stamp, const std::vector<std::int64_t>& levels);
  void halve();
  void join(std::size_t into, std::size_t from);

  std::size_t lanes_;
  std::size_t most_;
  std::uint64_t full_ = 16; // changes of one bin
  bool gap_ = false;
  std::vector<Bin> bins_;
  std::vector<LaneBin> values_; // by bin, then lane
};

} // namespace memtrace::replay
