// Purpose: empties the full ring of a thread, or counts the lost event by its reason.
// Runs: inside the program's malloc.
#pragma once

#include "preload/ring/drain_pass.h"

namespace memtrace::record {

// Empties a full ring by a pass, and by another one if the first filled its file. If the disk is slow, makes no
// pass: the background thread may wait for the disk, but the program's threads may not.
Passed make_pass(format::RingSlot* slot);

// True if the pass made room for the event that waits for it. If it did not, the event is lost and counted.
bool made_room(Passed result);

} // namespace memtrace::record
