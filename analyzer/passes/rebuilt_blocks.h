// Purpose: follows blocks that a program replaces by larger ones, such as a tensor that torch.cat extends.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "analyzer/replay/replay.h"

namespace memtrace::replay {

struct RebuiltQuestion {
  std::unordered_set<format::StackId> stacks; // of the blocks to follow
  // true: the events are steps. false: they are the outermost phases in which the program uses a model. Then a
  // block counts only if it is born in one.
  bool steps = false;
};

// What one stack held after each of the events that rebuilt its blocks: events without a break.
struct RebuiltSeries {
  MemoryId memory = 0;
  format::StackId stack{};
  std::vector<std::int64_t> events; // numbers of the steps, or of the passes from 0; ascending
  std::vector<std::int64_t> bytes;  // after each of these events, ascending
  PhasePosition born;               // of the last block
};

struct RebuiltBlocks {
  std::vector<RebuiltSeries> each; // the last of each stack and memory
  std::int64_t events = 0;         // of the trace
};

// Returns these series in one pass. An event rebuilds the blocks of a stack if two things hold: the earlier
// ones are alive when the first new one is born, and hardly any is alive afterwards. Memory use grows with the
// number of live blocks of these stacks, and with the number of events in which they grow.
RebuiltBlocks rebuilt_blocks(const trace::Trace& trace, const RebuiltQuestion& question);

} // namespace memtrace::replay
