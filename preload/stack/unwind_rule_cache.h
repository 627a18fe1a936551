// Purpose: caches the rules of the unwind tables, each once, in the order in which frames follow each other.
// Runs: inside the program's malloc.
#pragma once

#include "preload/stack/eh_frame.h"

namespace memtrace::record {

// Returns false if there is no memory. Constructor only.
bool open_frame_rules();
bool frame_rules_are_open();
std::uint64_t frame_rules_bytes(); // touched so far

// Called after an unload, because other code may be loaded at those addresses.
void forget_frame_rules();
void drop_frame_rules(); // also drops their pages; on any thread

// Returns the rule for a frame that will return to `address`. `place` is that of the inner frame's rule, or 0;
// it becomes that of this rule. The rule that followed last time is tried first, and lies beside the inner one.
// So four frames share one cache line. With one line for each, found by hash, lookups took two thirds of an
// unwind in a training step.
FrameRule frame_rule(std::uint64_t address, std::uint32_t& place);

} // namespace memtrace::record
