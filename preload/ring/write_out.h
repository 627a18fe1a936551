// Purpose: a thread whose ring is full empties it, or loses an event by a reason.
// Runs: inside the program's malloc.
#pragma once

#include "preload/ring/drain_pass.h"

namespace memtrace::record {

// Empties a full ring: one pass, and another if the first one filled its file. Not where the disk is slow: the
// background thread may wait for it, the program's threads do not.
Passed make_pass(format::RingSlot* slot);

// What a pass means for the event that waits for the room. False: there is none, and the event is lost,
// counted.
bool made_room(Passed result);

} // namespace memtrace::record
