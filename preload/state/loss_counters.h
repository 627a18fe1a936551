// Purpose: what was dropped, and why. Totals live in the ring file once there is one, so they outlive the
// process.
// Runs: inside the program's malloc.
#pragma once

#include "preload/format/file_headers.h"

namespace memtrace::record {

// Adds `events` to the running total of its reason. Any thread, any time.
void lost(format::Loss reason, std::uint64_t events = 1);

// What a file does not take is lost for this reason from now on: the disk's fault, or the credentials'.
void blame_files_on(format::Loss reason);

std::uint64_t lost_so_far(format::Loss reason);

// The record of a birth, death or move was dropped; its reason is counted by lost(). What a block of the host
// took or gave back goes to the flows of this thread, as for small blocks: the level stays right, only the
// owner is unknown. Mappings and device memory have no flows: they are counted apart. On the thread whose
// record it is.
void lost_block(const format::RingRecord& record);
// The same for a record that was folded already: no flows are added, the trace alone lacks it.
void lost_folded_block(const format::RingRecord& record);
// The same for a heap block of which there is no record: a signal handler met the recorder at work. Bytes as
// given.
void lost_heap_block(std::uint64_t born, std::uint64_t died, bool tensor);

// Keeps flows of a thread that has no slot where they survive a kill. Any thread.
void keep_slotless_flows(const format::SmallTotals& flows);
// Takes them all: they are written out now.
format::SmallTotals take_slotless_flows();

format::LostBlocks lost_blocks_so_far();

// From now on the totals are kept in `header`; what was counted before is added. Null: from 0, in private
// memory.
void keep_losses_in(format::RingFileHeader* header);

} // namespace memtrace::record
