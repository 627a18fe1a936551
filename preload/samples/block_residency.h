// Purpose: how much of each large block is resident: a block may be written to long after its birth.
// Runs: on the background thread.
#pragma once

#include <cstdint>

namespace memtrace::record {

// Records how much of a block is resident, for the blocks that are not fully resident: at the first look and
// when it changes. A block without such a record is fully resident, or it died too soon to be looked at.
void look_at_blocks_if_due();

// True if a look at the time `now` could show in which phase a block was touched. Runs on any thread, where a
// phase begins or ends.
bool blocks_may_be_touched(std::uint64_t now);

// Forgets all blocks. Runs in a forked child, which has other blocks.
void forget_touched();

} // namespace memtrace::record
