// Purpose: how much of each large block is in memory: a block may be written to long after it was made.
// Runs: on the background thread.
#pragma once

namespace memtrace::record {

// Says of those that are not all in memory how much is, when it is seen first and when it changes. Of the
// others, nothing: a block of which nothing is said is all there, or died too soon to be looked at.
void look_at_blocks_if_due();

// On any thread, where a phase begins or ends: whether a look now would tell in which phase a block was
// touched.
bool blocks_may_be_touched();

// In a forked child: its blocks are others.
void forget_touched();

} // namespace memtrace::record
