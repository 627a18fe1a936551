// Purpose: counts lost events by reason. Once there is a ring file, the totals are in it, so they outlive the
// process.
// Runs: inside the program's malloc.
#pragma once

#include "preload/format/file_headers.h"

namespace memtrace::record {

// Adds `events` to the running total of `reason`. May be called on any thread at any time.
void lost(format::Loss reason, std::uint64_t events = 1);

// From now on, events that a file does not take are lost for this reason: the disk, or the credentials.
void blame_files_on(format::Loss reason);

std::uint64_t lost_so_far(format::Loss reason);

// Counts the bytes of a dropped record of a birth, death or move; lost() counts the reason. The bytes of a
// block in host memory go to the flows of this thread, as for small blocks: the level stays right, only the
// owner is unknown. Mappings and device memory have no flows, so they are counted separately. Called on the
// thread of the record.
void lost_block(const format::RingRecord& record);
// Counts a dropped record that the rollup has counted already: adds no flows, because only the trace lacks the
// record.
void lost_folded_block(const format::RingRecord& record);
// Counts a heap block without a record, because a signal handler interrupted the recorder. `born` and `died`
// are bytes given.
void lost_heap_block(std::uint64_t born, std::uint64_t died, bool tensor);

// Adds the flows of a thread without a slot to totals that survive a kill. May be called on any thread.
void keep_slotless_flows(const format::SmallTotals& flows);
// Returns these flows and sets them to 0. The caller writes them out.
format::SmallTotals take_slotless_flows();

format::LostBlocks lost_blocks_so_far();

// From now on keeps the totals in `header`, and adds the counts so far to them. Null: counts from 0, in private
// memory.
void keep_losses_in(format::RingFileHeader* header);

} // namespace memtrace::record
