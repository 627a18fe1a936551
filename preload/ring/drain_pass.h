// Purpose: one pass over the rings: codes their records, appends them, applies them to the rollup and frees
// their places.
// Runs: in the drain and, when its ring is full, on the program's thread.
#pragma once

#include "preload/state/thread.h"

namespace memtrace::record {

enum class Passed {
  all,     // all records from before the pass are written
  some,    // the file is full: the next pass begins a new one
  no_room, // the bound is reached, and there are no windows
  failed,  // the segment could not be written, mostly because of the disk
  busy,    // the lock was not free in time
};
// Makes a pass over all slots of the ring file. `last`: the process ends, so the pass may use the room reserved
// for that.
Passed pass(bool last);
// Makes a pass over one slot of an abandoned ring file.
Passed pass_over(format::RingSlot* slot, const Ring& ring);

// Allocates the buffers of a pass. Returns false if there is no memory.
bool prepare_pass();
// Notes that a slot has a new owner. The owner's first segment in a stretch gets kAfterWindow.
void slot_claimed(std::uint32_t index);
// Resets the passes: in a forked child, and when a trace begins.
void forget_pass();

// Ends the wait after a failed pass, because the files can be written again.
void forget_pass_errors();

} // namespace memtrace::record
