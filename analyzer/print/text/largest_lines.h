// Purpose: names the user's lines that held the most bytes at one instant.
#pragma once

#include <cstdint>
#include <string>

#include "analyzer/explain/process_analysis.h"

namespace memtrace::report {

// Returns "train.py:9 771.53 MiB (2 x 381.47 MiB), train.py:12 305.18 MiB; imports 170.40 MiB": at most three
// lines, each with at least a twentieth of `total`, and what all imports made, if that is as much. Returns ""
// if there is none. Names the blocks if nearly all bytes of a line are in two to four of one size: such blocks
// may be copies.
std::string largest_lines(ProcessAnalysis& analysis, const replay::Holdings& alive, std::int64_t total);

} // namespace memtrace::report
