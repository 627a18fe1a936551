// Purpose: takes its slot from a thread that has ended, and writes what it left.
// Runs: inside the program's malloc, threads lock held.
#pragma once

#include "preload/state/thread.h"

namespace memtrace::record {

// Publishes what an ended thread left and frees its slot. False if a record of it waits to be written, or a
// pass is under way: ask again later.
bool release_ended(Thread& thread);
// Publishes the flows that an ended thread left. Returns false if some are left.
bool publish_left_over(Thread& thread);

} // namespace memtrace::record
