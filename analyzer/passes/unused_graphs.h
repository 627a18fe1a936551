// Purpose: the blocks that forward passes kept for a backward that never came.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "analyzer/replay/replay.h"

namespace memtrace::replay {

// A forward pass is one phase `forward` with the phase `loss` after it. Its graph is unused if no backward
// comes next and no backward freed a tenth of what outlived the pass.
struct UnusedGraphs {
  std::uint64_t passes = 0;                       // with an unused graph
  std::uint64_t most_in_a_row = 0;                // of them, without another pass between
  std::vector<trace::Ordinal> births;             // of the blocks of these graphs, ascending
  std::map<format::StackId, std::uint64_t> bytes; // of these blocks, all passes together
  std::set<format::StackId> outputs;              // stacks of the outputs of these passes
  std::uint64_t largest = 0;                      // bytes of the largest of these blocks
};

// Returns the unused graphs of a memory, in one pass. Counts tensors of at least kLeastOfGraph bytes that
// outlived their forward pass, except the newest tensor of each pass that is no scalar: its output. Memory use
// grows with the number of blocks.
inline constexpr std::uint64_t kLeastOfGraph = 64 << 10;

// What the end of the trace says about the last forward passes, whose backward may be missing.
enum class LastPasses : std::uint8_t {
  open,     // the last pass may still get its backward
  cut_off,  // the process died: passes after the last backward count only if each backward before came right
            // after its forward
  complete, // the process exited: the last pass belongs to the passes without backward before it
};
UnusedGraphs unused_graphs(const trace::Trace& trace, MemoryId memory, LastPasses last);

} // namespace memtrace::replay
