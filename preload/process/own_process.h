// Purpose: the process that the state of the recorder belongs to: a child of vfork has the memory of its
// parent.
// Runs: on any thread.
#pragma once

#include "preload/format/records.h"

namespace memtrace::record {

// Makes the calling process the owner of the state. Returns the pid of the owner before it; 0: none.
int take_process();
// Returns false in a child of vfork, whose memory is its parent's.
bool is_own_process();

} // namespace memtrace::record
