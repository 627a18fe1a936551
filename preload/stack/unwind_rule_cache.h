// Purpose: the rules that were read from the unwind tables, each once, side by side as frames follow each
// other.
// Runs: inside the program's malloc.
#pragma once

#include "preload/stack/eh_frame.h"

namespace memtrace::record {

// False: no memory. Constructor only.
bool open_frame_rules();
bool frame_rules_are_open();
std::uint64_t frame_rules_bytes(); // touched so far

// After an unload: other code may come to lie there.
void forget_frame_rules();
void drop_frame_rules(); // and their pages; on any thread

// The rule for a frame that will return to `address`. `place` is that of the frame inside it, or 0, and becomes
// its own: the rule that followed last time is tried first, and lies beside it. That is one cache line for four
// frames, where one for each, by its hash, was two thirds of the time of an unwind in a training step.
FrameRule frame_rule(std::uint64_t address, std::uint32_t& place);

} // namespace memtrace::record
