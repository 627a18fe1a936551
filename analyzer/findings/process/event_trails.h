// Purpose: the lines of a program that left blocks in recurring events, and the decision which of them leak.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/process/recurring_phases.h"
#include "analyzer/passes/left_blocks.h"
#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::report {

inline constexpr std::int64_t kLeastOfEvents = 2 << 20; // bytes in all, as of `leak-per-step`

// The events of one kind.
struct EventKind {
  replay::PathId path = replay::PathId::other; // PathId::other: steps at regular distances
  std::size_t counted = 0;                     // index of the counted phase; their number: the events are steps
};

// What one line of the program left, in events of one kind.
struct EventTrail {
  EventKind of;
  replay::MemoryId memory = 0;
  std::map<std::int64_t, std::int64_t> bytes; // by event
  std::map<format::StackId, std::int64_t> stacks;
  std::vector<const replay::LeftBlock*> blocks;
  std::string line;
  bool arena = false;
  bool born_in_update = false; // tensors of backward or of an update: gradients and states

  std::int64_t sum() const {
    std::int64_t out = 0;
    for (const auto& [event, more] : bytes) out = replay::wrapping_add(out, more);
    return out;
  }
};

// Trails that were left by the same events: one cause.
struct EventLeak {
  std::vector<EventTrail> trails;   // the largest first
  std::vector<std::int64_t> events; // of the kind, whether they left something or not; ascending
  const EventTrail& largest() const { return trails.front(); }
};

// Returns the bytes per event: the usual bytes if most events left as much. Else returns the mean from the
// first that left something to the last.
std::int64_t per_event(const EventTrail& trail, const std::vector<std::int64_t>& events);

// Returns the leaks of all memories. The trails refer to the blocks of `left`.
std::vector<EventLeak> event_leaks(ProcessAnalysis& analysis, const RecurringPhases& phases,
                                   const replay::LeftBlocks& left);

} // namespace memtrace::report
