// Purpose: gives the calling thread its record.
// Runs: inside the program's malloc.
#pragma once

#include "preload/state/thread.h"

namespace memtrace::record {

// Returns the calling thread's new record; null if memory is short or the list is held. The caller holds the
// guard.
Thread* make_this_thread();
// Returns the reason why this thread's event is lost if make_this_thread() returned null.
format::Loss loss_without_thread();
// Returns this thread's record, which is made on first use; null as above.
inline Thread* this_thread() {
  return local.thread != nullptr ? local.thread : make_this_thread();
}

// Forgets all threads except the calling one, whose phases stay. Called in a forked child.
void forget_other_threads();

} // namespace memtrace::record
