// Purpose: writes what was alive at a peak, and how it came, as a memory snapshot of PyTorch.
#pragma once

#include "analyzer/calltree/held_blocks.h"
#include "analyzer/files/writing.h"

namespace memtrace::report {

// Writes the state at the peak, and the history until then, as a pickle that PyTorch's viewer reads. Each GPU
// is the device of its number. If the trace has no GPU, or `memory` is the host, the host alone is device 0.
// Reads the events two times for each device. Memory grows with the blocks alive at the peak, and with the
// distinct stacks.
void write_torch_snapshot(ProcessAnalysis& analysis, const LeadingPeak& peak, const files::TakePart& take);

} // namespace memtrace::report
