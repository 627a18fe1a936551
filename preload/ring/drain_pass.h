// Purpose: one pass over the rings: what they hold is coded, appended and folded, then forgotten there.
// Runs: in the drain and, when its ring is full, on the program's thread.
#pragma once

#include "preload/state/thread.h"

namespace memtrace::record {

enum class Passed {
  all,     // that was recorded before it began
  some,    // the file is full: the next pass begins another
  no_room, // the bound is reached, and there are no windows
  failed,  // the disk
  busy,    // the lock could not be had in time
};
// Over all slots of the ring file. `last`: at an end, when a little more room may be used.
Passed pass(bool last);
// Over one slot of a ring file that was given up.
Passed pass_over(format::RingSlot* slot, const Ring& ring);

// Its buffers. False: no memory.
bool prepare_pass();
// A slot has a new owner, whose first segment in a window says that.
void slot_claimed(std::uint32_t index);
// In a forked child, and when a trace begins.
void forget_pass();

// The files can be written again: what a failed pass waits for is over.
void forget_pass_errors();

} // namespace memtrace::record
