// Purpose: from disabled to buffering, and from buffering to recording.
// Runs: in the constructor, in a forked child, and once when recording begins.
#pragma once

#include "preload/process/process_identity.h"

namespace memtrace::record {

// Prepares the settings, the job directory and the unwinder. Only the constructor calls it. Afterwards the
// process is buffering, or disabled. `may_unwind`: hooks may take native stacks.
void start_life(bool may_unwind = true);

// Notes that the blocks of malloc do not pass memtrace's hooks, because `object` has a malloc that comes first.
// Only the constructor calls it.
void malloc_is_elsewhere(const char* object);

// Resets the state in a forked child, which has not begun to record. Its records will name `of` as its parent.
void forget_beginning(const Parent& of);

} // namespace memtrace::record
