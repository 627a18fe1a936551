// Purpose: what a peak would be if some blocks were not there, or were smaller.
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

// Blocks to leave out of a measure of a memory. Where more than one thing is said of them, all must hold.
struct Excluded {
  MemoryId memory = 0;
  Measure measure = Measure::tensor;
  std::optional<std::unordered_set<format::StackId>> stacks{}; // none: of any
  std::optional<KnownPhase> born{};                            // in a phase of that name; none: in any
  std::uint64_t parts = 0;                                     // one byte in so many stays; 0: none does
  std::vector<Sizes> sizes{};                                  // of one block; none: any
  bool rounding = false;                        // only what an allocator took beyond what it was asked for
  std::unordered_set<format::StackId> spared{}; // not of these
};

struct Without {
  std::int64_t peak = 0; // what is left of it
  PathId path = PathId::other;
  Step step = Step::none;      // when that is
  std::set<Step> steps;        // in which such blocks were born
  Step last_held = Step::none; // the last step in which some were alive
};

// One pass for all, in their order. Memory grows with live blocks.
std::vector<Without> peaks_without(const trace::Trace& trace, const std::vector<Excluded>& each);

} // namespace memtrace::replay
