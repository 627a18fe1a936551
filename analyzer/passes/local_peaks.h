// Purpose: the peaks of a level, with a valley between each two.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analyzer/attribute/peak_composition.h"

namespace memtrace::replay {

struct LocalPeak {
  std::int64_t bytes = 0;
  trace::Ordinal at = 0;
  PathId path = PathId::other;
  Step step = Step::none;
  // Of the last block of at least `depth` bytes that was made on the way up; without such a block, of the
  // largest. 0: no stack.
  format::StackId stack{};
  bool operator==(const LocalPeak&) const = default;
};

// Follows one level up to a top and down to a valley, in turn. A top counts once the level has fallen by
// `depth`, a valley once the level has risen by as much.
class PeakTracker {
 public:
  PeakTracker(std::int64_t depth, std::int64_t level) : depth_(depth), valley_(level) { top_.bytes = level; }

  void born(std::uint64_t bytes, format::StackId stack);
  // The level after an event. Call it after the event's births.
  void reached(std::int64_t level, trace::Ordinal at, PathId path, Step step);
  // Returns the peaks, as local_peaks() does. Call it after the last event.
  std::vector<LocalPeak> take();

 private:
  void begin_rise(std::int64_t from);
  void keep();

  std::int64_t depth_;
  std::uint64_t largest_ = 0; // bytes of the largest block that was made since the last valley
  format::StackId stack_{};   // of the block that brought the level up, see LocalPeak
  bool rises_ = true;
  LocalPeak top_;       // since the last valley
  std::int64_t valley_; // since the last top
  std::map<std::pair<PathId, format::StackId>, LocalPeak> highest_;
};

// Returns the bytes that a block adds to the measure.
inline std::uint64_t bytes_in(Measure measure, const Block& block) {
  return measure == Measure::tensor ? block.tensor_bytes() : block.counted ? block.given : 0;
}
inline std::int64_t bytes_in(Measure measure, const Level& level) {
  return measure == Measure::tensor ? level.tensor : level.live;
}
// True for the events of a snapshot: it sets the level before it lists the blocks.
bool lists_state(format::EventType type);

// Returns the peaks of a measure of a memory: before and after each, the level is at least `depth` bytes lower,
// or the trace begins or ends. Of all peaks with one path and one stack, returns the first of the highest. The
// order is that of their instants. Memory use grows with the number of such places.
std::vector<LocalPeak> local_peaks(const trace::Trace& trace, MemoryId memory, Measure measure,
                                   std::int64_t depth);

} // namespace memtrace::replay
