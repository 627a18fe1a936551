// Purpose: how much of each large block was in memory, and in which phase that came: it may be long after its
// birth.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "analyzer/replay/phase_position.h"
#include "analyzer/trace/event_merger.h"

namespace memtrace::replay {

// Of one block that was seen not to be all in memory.
class Touches {
 public:
  // `path`, `step`: where the process was for most of the time since the look before. Of the first look that is
  // since its birth: what came by then came with it.
  void look(trace::Ordinal at, std::uint64_t resident, PathId path, Step step);

  // By the first look from then on, else by the last one before.
  std::uint64_t resident(trace::Ordinal at) const;
  // Bytes that came after the first look, and where most of them did.
  std::uint64_t late() const { return late_; }
  PathId path() const { return path_; }
  Step step() const { return step_; }

 private:
  std::vector<std::pair<trace::Ordinal, std::uint64_t>> looks_;
  PathId path_ = PathId::other;
  Step step_ = Step::none;
  std::uint64_t late_ = 0;
  std::uint64_t most_ = 0; // of these, between two looks
};

class Touched {
 public:
  // From then on the process is there.
  void moved(format::Stamp stamp, PathId path, Step step);
  void look(const trace::Event& event); // a sample_touched

  // Null: nothing was said of it, so it was all there, or too short-lived to be looked at.
  const Touches* of(std::uint64_t address, format::Stamp birth) const;
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
