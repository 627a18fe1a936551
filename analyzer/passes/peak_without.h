// Purpose: the height of a peak if some blocks were missing or smaller.
#pragma once

#include <optional>
#include <set>
#include <unordered_set>
#include <vector>

#include "analyzer/attribute/peak_composition.h"

namespace memtrace::replay {

struct Sizes { // bytes, inclusive
  std::uint64_t from = 0;
  std::uint64_t to = 0;
};

// A block that an event left: excluded once the event is over.
struct LeftByEvent {
  trace::Ordinal birth = 0;
  trace::Ordinal over = 0; // excluded from this event on
};

// The blocks to exclude from a measure of a memory. A block must satisfy all fields that are set.
struct Excluded {
  MemoryId memory = 0;
  Measure measure = Measure::tensor;
  std::optional<std::unordered_set<format::StackId>> stacks{}; // nullopt: blocks of any stack
  std::optional<KnownPhase> born{}; // born in a phase of that name; nullopt: in any phase
  std::optional<NameId> born_in{};  // born in the phase of that name, known or not; nullopt: in any phase
  std::uint64_t parts = 0;          // 1/parts of the bytes stays; 0: no byte stays
  std::vector<Sizes> sizes{};       // size ranges of one block; empty: any size
  bool rounding = false;            // true: only the bytes that an allocator used beyond the requested size
  std::unordered_set<format::StackId> spared{};        // stacks whose blocks are not excluded
  std::optional<std::vector<trace::Ordinal>> births{}; // ascending; nullopt: any block
  // Blocks of these stacks are excluded, too, once the step after their birth has begun. `births` does not
  // restrict them.
  std::unordered_set<format::StackId> left_by_steps{};
  std::vector<LeftByEvent>
      left_by_events{};         // in addition, ascending by birth; no `over` is below the one before
  bool of_present_step = false; // true: excluded only until the step after their birth begins
  // true: not if they were born after the update of their step. An evaluation between two steps is there.
  bool before_update = false;
  // Ascending. If set, a block is excluded only once one of these events, after its birth, has happened.
  std::optional<std::vector<trace::Ordinal>> rounds{};
  // true: excluded only once the step after their birth has begun, and only outside backward and update
  bool until_backward = false;
};

struct Without {
  std::int64_t peak = 0; // the peak without these blocks
  std::int64_t most =
      0; // the highest level of these blocks, those of `left_by_steps` included from their birth
  PathId path = PathId::other;
  Step step = Step::none;      // the step of that peak
  std::set<Step> steps;        // steps in which such blocks were born
  Step last_held = Step::none; // the last step in which such a block was alive
};

// Returns one result for each element, in their order, after one pass. Memory use grows with the number of live
// blocks.
std::vector<Without> peaks_without(const trace::Trace& trace, const std::vector<Excluded>& each);

} // namespace memtrace::replay
