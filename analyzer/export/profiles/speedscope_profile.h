// Purpose: writes what was alive at peaks as a file for speedscope.
#pragma once

#include <cstddef>
#include <vector>

#include "analyzer/calltree/call_tree.h"
#include "analyzer/files/writing.h"

namespace memtrace::report {

// Writes a sampled profile in bytes for each memory. Each sample is one stack, and the weights of a profile add
// up to its peak. `shown`: the profile that speedscope opens first.
void write_speedscope(ProcessAnalysis& analysis, const std::vector<HeldBlocks>& peaks, std::size_t shown,
                      const files::TakePart& take);

} // namespace memtrace::report
