// Purpose: the blocks that recurring events left behind: each outlived the event in which it was born.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "analyzer/attribute/keyframes.h"
#include "analyzer/replay/replay.h"

namespace memtrace::replay {

// A phase whose occurrences are the events. The blocks that are born in it, or in a phase below it, are those
// of the event. Events outside of (from, until] do not count.
struct RecurringOccurrence {
  PathId path = PathId::other;
  trace::Ordinal from = 0;
  trace::Ordinal until = 0; // the instant to look at live blocks: just after this event
  bool joined = false;      // occurrences without a pass of a model between them are one event
};

// For all other blocks, the event is the step of their birth.
struct LeftQuestion {
  std::map<MemoryId, trace::Ordinal> until; // the instant to look at live blocks, for each memory in question
  std::vector<RecurringOccurrence> counted;
  // If not empty: the first event of each cycle, ascending. Then `counted` has one element, whose events are
  // the cycles, and every block is of the cycle in which it was born. A block outlives its cycle if it outlives
  // the next one, too. A variable that each cycle sets anew still holds the block of the cycle before.
  std::vector<trace::Ordinal> cycles;
};

struct LeftBlock {
  MemoryId memory = 0;
  trace::Ordinal birth = 0;
  trace::Ordinal over = 0; // the event of its birth was over just after this event
  std::uint64_t bytes = 0; // given by the host's allocator; of a GPU, the bytes of the tensor
  format::StackId stack{};
  format::Kind kind = format::Kind::none;
  bool tensor = false;
  PhasePosition born;
  std::size_t phase = 0;  // index in `counted`; its size: the event is a step
  std::int64_t event = 0; // the number of the step, or of the event in its phase, from 0
};

struct LeftBlocks {
  std::vector<LeftBlock> each; // alive at the instant, ascending by birth
  // Bytes that outlived the event of their birth and died before the instant.
  std::map<std::pair<MemoryId, format::StackId>, std::uint64_t> freed_later;
  std::vector<std::size_t> events; // their number in each counted phase
};

// Returns these blocks in one pass. Samples of small blocks are left out. Memory use grows with the number of
// live blocks. If no phase is counted, and the instants of the question lie between two keyframes, replays only
// the events between these.
LeftBlocks left_blocks(const trace::Trace& trace, const LeftQuestion& question,
                       const Keyframes* keyframes = nullptr);

// True for the phases in which a program uses a model: forward, eval, generate.
bool uses_a_model(const std::string& phase);

} // namespace memtrace::replay
