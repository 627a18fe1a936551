// Purpose: the size of the batch that each step of training took.
#pragma once

#include <map>

#include "analyzer/replay/replay.h"

namespace memtrace::replay {

// Bytes of the largest batch of each step, in each memory.
using BatchSizes = std::map<MemoryId, std::map<Step, std::uint64_t>>;

// Returns the sizes in one pass. A batch is the tensors that are alive when the outermost forward begins, and
// were made since the forward before. They were made in the phase `data`, or outside of the known phases, as a
// copy to a GPU is. Shared memory that a loader mapped in `data` counts, too. If a program makes a batch before
// the forward of another one, the size is that of another step.
BatchSizes batch_sizes(const trace::Trace& trace);

} // namespace memtrace::replay
