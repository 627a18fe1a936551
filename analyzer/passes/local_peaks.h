// Purpose: the peaks of a level, with a valley between each two.
#pragma once

#include <cstdint>
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
};

// Returns the peaks of a measure of a memory: before and after each, the level is at least `depth` bytes lower,
// or the trace begins or ends. Of all peaks with one path and one stack, returns the first of the highest. The
// order is that of their instants. Memory use grows with the number of such places.
std::vector<LocalPeak> local_peaks(const trace::Trace& trace, MemoryId memory, Measure measure,
                                   std::int64_t depth);

} // namespace memtrace::replay
