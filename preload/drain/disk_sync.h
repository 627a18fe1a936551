// Purpose: writes the trace to the disk itself from time to time, in case the node fails.
// Runs: on the background thread.
#pragma once

namespace memtrace::record {

// Asks the kernel to write out the trace and the ring file, and returns at once. No thread waits for the disk,
// and no lock is held. The first sync is 2 s after recording began, later ones every 30 s, or less often if the
// disk is slow. Files on network file systems are left out, because those write on close.
void sync_if_due();

// Called in a forked child.
void forget_syncs();

} // namespace memtrace::record
