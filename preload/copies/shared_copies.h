// Purpose: keeps the job's directory on a shared file system up to date: seldom, at once near a limit, and at
// the end of a process.
// Runs: on memtrace's own thread, except where said. No other thread touches the shared file system.
#pragma once

#include "preload/copies/copy_state.h"

namespace memtrace::record {

// Appends what is new if a copy is due. Also takes what processes of the job left that were killed on this
// host. Copies a part of it, if it is long; the next call continues. False: a limit is near, so the next call
// should follow at once.
bool copy_if_due(GoOn go_on);
// True if a limit has become near since the last copy, so that copy_if_due() copies at once. Before it, the
// rings should be drained.
bool copy_is_urgent();

// Copies everything of this process, which has ended its recording, and removes its local files. False if some
// of them stay: a later call continues.
bool copy_last(GoOn go_on);

// True if a copy failed, and no thread has said so. The background thread cannot print.
bool copies_have_failed();
// Prints that, once. On a thread of the program.
void say_of_failed_copies();

void forget_copies(); // in a forked child

} // namespace memtrace::record
