// Purpose: writes a call tree as folded stacks, one line for each stack.
#pragma once

#include "analyzer/calltree/call_tree.h"
#include "analyzer/files/writing.h"

namespace memtrace::report {

// Writes lines "main (train.py:3);torch.linear (libtorch_cpu.so) 4096", outermost call first, in bytes. The
// lines add up to the whole. A ';' in a name becomes ',', a control character '?'.
void write_folded(const ProcessAnalysis& analysis, const CallTree& tree, const files::TakePart& take);

} // namespace memtrace::report
