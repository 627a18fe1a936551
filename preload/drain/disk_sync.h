// Purpose: what was written goes onto the disk itself now and then, against the loss of the node.
// Runs: on the background thread.
#pragma once

namespace memtrace::record {

// Asks the kernel to write the trace and the ring file out and returns at once: nobody waits for the disk, and
// no lock is held. Some seconds after recording began, then every half minute, rarer where the disk takes long.
// Network file systems write on close.
void sync_if_due();

// In a forked child.
void forget_syncs();

} // namespace memtrace::record
