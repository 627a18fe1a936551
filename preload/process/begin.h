// Purpose: from disabled to buffering, and from buffering to recording.
// Runs: at the first event, in a forked child, and once when recording begins.
#pragma once

#include "preload/process/process_identity.h"
#include "preload/stack/native_unwinder.h"

namespace memtrace::record {

// Reads the settings. True if they select this program. start_life() calls it, too.
bool program_is_selected();

// Prepares the settings, the job directory and the unwinder. Afterwards the process is buffering, or disabled.
// `may_unwind`: hooks may take native stacks.
void start_life(bool may_unwind = true);

// True if start_life() may open a library, so that it must not run inside malloc.
inline bool start_needs_loader() {
  return unwinder_needs_loader();
}

// True if a child of vfork had the first event. It would start the recorder of its parent, and take the
// parent's files for its own. The recorder then waits again, for an event of the parent. If the kernel does not
// tell, each child of the first thread that ran no fork handlers counts as one.
bool event_is_of_vfork_child();

// From now on, the first event of the process calls `start`, which calls start_life(). The constructor calls
// this: most processes of a build end before they allocate, or soon after.
void wait_for_first_event(void (*start)());

// Notes that the blocks of malloc do not pass memtrace's hooks, because `object` has a malloc that comes first.
// Before start_life().
void malloc_is_elsewhere(const char* object);

// Makes the trace of an armed process begin from these levels, in bytes. `small` is what records will carry of
// earlier flows of small blocks; `live` does not have it. The parent of a forked process stays
// its parent; else the process itself is named as the parent.
void begin_from_level(std::int64_t live, std::int64_t small, std::int64_t tensor);

// Resets the state in a forked child, which has not begun to record. Its records will name `of` as its parent.
void forget_beginning(const Parent& of);

} // namespace memtrace::record
