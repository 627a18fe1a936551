// Purpose: the instants that the program marked by memtrace_snapshot. The report says what was alive at them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "analyzer/replay/live_blocks.h"

namespace memtrace::replay {

struct MarkedInstant {
  format::TextId name{};
  trace::Ordinal at = 0; // just after this event
  format::Stamp stamp = 0;
  PathId path{};
  Step step = Step::none;
  std::vector<Level> levels; // by MemoryId
};

// At most 64 instants. If a program marks more, as in each step, the first and the last ones are kept. A table
// of what was alive takes memory for each instant.
class MarkedInstants {
 public:
  void add(MarkedInstant instant) {
    all_.push_back(std::move(instant));
    if (all_.size() <= kMost) return;
    all_.erase(all_.begin() + kMost / 2);
    ++left_out_;
  }
  const std::vector<MarkedInstant>& all() const { return all_; }
  std::uint64_t left_out() const { return left_out_; }

 private:
  static constexpr std::size_t kMost = 64;
  std::vector<MarkedInstant> all_;
  std::uint64_t left_out_ = 0;
};

} // namespace memtrace::replay
