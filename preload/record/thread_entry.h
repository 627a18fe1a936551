// Purpose: gives the calling thread its record.
// Runs: inside the program's malloc.
#pragma once

#include "preload/state/thread.h"

namespace memtrace::record {

// Returns null when memory is short or the list is held. Guard held.
Thread* make_this_thread();
// Why this thread's event is lost when there is null.
format::Loss loss_without_thread();
// This thread's, made on first use; as above.
inline Thread* this_thread() {
  return local.thread != nullptr ? local.thread : make_this_thread();
}

// In a forked child: only the calling thread is left. Keeps its phases.
void forget_other_threads();

} // namespace memtrace::record
