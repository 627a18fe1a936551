// Purpose: which process's life this is: a child of vfork has the memory of its parent.
// Runs: on any thread.
#pragma once

#include "preload/format/records.h"

namespace memtrace::record {

// The life is the calling process's from now on. Returns the process whose life it was, 0 for none.
int take_process();
// False in a child of vfork, whose memory is its parent's.
bool is_own_process();

} // namespace memtrace::record
