// Purpose: frees the slot of a thread that has ended, and writes its remaining flows.
// Runs: inside the program's malloc; the threads lock is held.
#pragma once

#include "preload/state/thread.h"

namespace memtrace::record {

// Publishes the remaining flows of an ended thread and frees its slot. Returns false if one of its records
// waits to be written, or a pass is under way. The caller then tries again later.
bool release_ended(Thread& thread);
// Publishes the remaining flows of an ended thread. Returns false if some remain.
bool publish_left_over(Thread& thread);

} // namespace memtrace::record
