// Purpose: the blocks that Python's collector of cycles freed in a later round than that of their birth.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "analyzer/attribute/peak_composition.h"
#include "analyzer/attribute/phase_accounting.h"

namespace memtrace::replay {

struct CollectedStack {
  std::uint64_t bytes = 0; // that collections freed
  // Bytes that were in cycles at the peak: blocks of earlier rounds that a collection freed later, or that the
  // end of the process freed. Not the newest block of the stack, because the program may still use it.
  std::int64_t at_peak = 0;
};

// A round ends when an optimizer's step ends: what the program makes after it is for the next step. Without an
// optimizer, a round ends when the next step begins.
struct CollectedBlocks {
  std::uint64_t collections = 0; // that freed such a block
  std::uint64_t most = 0;        // bytes that one of them freed
  std::uint64_t bytes = 0;       // all of them together
  std::uint64_t blocks = 0;
  std::vector<trace::Ordinal> births;               // of all blocks that were in cycles, ascending
  std::vector<trace::Ordinal> rounds;               // the events with which rounds began, ascending
  std::map<format::StackId, CollectedStack> stacks; // whose blocks nothing else frees
};

inline constexpr std::uint64_t kLeastCollected = 16 << 10; // bytes of one block
// Above this number of blocks the result is empty: each needs 8 bytes.
inline constexpr std::size_t kMostCollected = 4'000'000;

// Returns these blocks of a memory, in one pass. `peak`: the peak that `at_peak` is about, of `measure`.
CollectedBlocks collected_blocks(const trace::Trace& trace, MemoryId memory, Measure measure, const Peak& peak);

} // namespace memtrace::replay
