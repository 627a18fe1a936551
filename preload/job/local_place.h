// Purpose: chooses a local directory for the traces of a job whose directory is on a shared file system.
// Runs: when the process makes its first file; also inside a malloc, on a small stack.
#pragma once

namespace memtrace::record {

// If the job's directory is on a shared file system (MEMTRACE_SHARED), and a local disk has room for
// directories, sets `place.shared` and `place.directory`. The first call decides; a forked child keeps the
// decision.
void settle_place();
// Undoes it: the local directory cannot be used.
void leave_local_place();

} // namespace memtrace::record
