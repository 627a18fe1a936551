// Purpose: the phases that have not ended: levels at their entry, the highest levels since, and how both become
// a row when they end.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/attribute/growing_rows.h"
#include "analyzer/replay/highest_since.h"
#include "analyzer/replay/phase_tracker.h"

namespace memtrace::replay {

struct MemoryLevels { // of one memory at one time
  std::int64_t live = 0;
  std::int64_t tensor = 0;
  std::int64_t reserved = 0;
  std::int64_t used = kNotShown;
};

inline constexpr auto kLevel = [](std::int64_t level) { return level; };
inline constexpr auto kResidentSum = [](const Resident& resident) { return resident.sum(); };
using HighestLevel = HighestSince<std::int64_t, kLevel>;

struct HighestLevels { // of one memory
  HighestLevel live;
  HighestLevel tensor;
  HighestLevel reserved;
  HighestLevel used;
  HighestLevel asked; // `live`, while the figure of `used` was current
};

struct OpenPhase {
  GrowingRow* row;
  bool again;                         // it continues after a gap, as one occurrence
  trace::Ordinal began;               // after this event
  std::vector<MemoryLevels> memory;   // of the memories used by then; later ones began at 0
  std::optional<Resident> resident{}; // of the first sample; nullopt: none yet
};

class UnfinishedPhases {
 public:
  // Levels of all memories used so far, by MemoryId.
  using Levels = std::span<const MemoryLevels>;

  // `now`: the last event before the phase.
  void begin(const Occurrence& occurrence, GrowingRow& row, trace::Ordinal now, Levels levels);
  // Adds the occurrence to its row. `now`: its last event. Returns false if it is not open.
  bool end(const Occurrence& occurrence, bool skipped, trace::Ordinal now, Levels levels);
  // Ends all, the oldest first: the entry of a row is that of its first occurrence.
  void end_all(trace::Ordinal now, Levels levels);
  // The rows of all that are open lack some events.
  void mark_partial();

  // The memory is used from now on.
  void see(MemoryId memory);
  // Returns the highest levels of a memory that see() was told of. The caller raises them.
  HighestLevels& highest(MemoryId memory) { return highest_[memory]; }
  void sample(const Resident& now, trace::Ordinal at);

 private:
  template <typename Take>
  void each_highest(Take take);
  std::vector<trace::Ordinal> begins() const;
  void end(OpenPhase& open, bool skipped, trace::Ordinal now, Levels levels);

  static constexpr std::size_t kSpare = 1024; // values of one level up to which no clean-up is needed
  std::map<OccurrenceId, OpenPhase> open_;    // in the order in which they began
  std::vector<HighestLevels> highest_;        // by MemoryId
  HighestSince<Resident, kResidentSum> resident_;
  Resident sampled_; // of the last sample
};

} // namespace memtrace::replay
