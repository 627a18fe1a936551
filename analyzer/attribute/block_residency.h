// Purpose: how many bytes of each large block were resident, and in which phase they became resident.
// That may be long after the birth of the block.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "analyzer/replay/phase_position.h"
#include "analyzer/trace/event_merger.h"

namespace memtrace::replay {

// The resident bytes of one block, by its `sample_touched` events. Only blocks that were not fully resident at
// some scan have such events.
class Touches {
 public:
  // Adds one scan. `path` and `step`: where the process was for most of the time since the scan before, or
  // since the birth. The bytes that the first scan finds count as present from the birth on.
  void look(trace::Ordinal at, std::uint64_t resident, PathId path, Step step);

  // Returns the resident bytes by the first scan from `at` on. If there is none, returns those of the last
  // scan.
  std::uint64_t resident(trace::Ordinal at) const;
  // Returns the bytes that became resident after the first scan. path() and step() tell where the largest
  // increase was.
  std::uint64_t late() const { return late_; }
  PathId path() const { return path_; }
  std::size_t bytes() const { return sizeof *this + looks_.size() * sizeof looks_[0]; }
  Step step() const { return step_; }

 private:
  std::vector<std::pair<trace::Ordinal, std::uint64_t>> looks_;
  PathId path_ = PathId::other;
  Step step_ = Step::none;
  std::uint64_t late_ = 0;
  std::uint64_t most_ = 0; // largest increase between two scans
};

class Touched {
 public:
  // Records that the process is at `path` and `step` from `stamp` on.
  void moved(format::Stamp stamp, PathId path, Step step);
  void look(const trace::Event& event); // takes a sample_touched

  // Returns null if the block has no scan: it was fully resident, or it died before the first scan.
  const Touches* of(std::uint64_t address, format::Stamp birth) const;
  std::size_t bytes() const { // of memory that a copy takes, about
    constexpr std::size_t kNode = 64;
    std::size_t out = sizeof *this + stays_.size() * sizeof(Stay);
    for (const auto& [block, touches] : blocks_) out += kNode + touches.bytes();
    return out;
  }
  void forget(std::uint64_t address, format::Stamp birth) {
    if (!blocks_.empty()) blocks_.erase({address, birth});
  }

 private:
  struct Stay {
    format::Stamp from;
    PathId path;
    Step step;
  };
  static constexpr std::size_t kStays = 256;
  const Stay& longest(format::Stamp from, format::Stamp to) const;

  std::map<std::pair<std::uint64_t, format::Stamp>, Touches> blocks_;
  std::deque<Stay> stays_ = {{0, PathId::other, Step::none}};
};

} // namespace memtrace::replay
