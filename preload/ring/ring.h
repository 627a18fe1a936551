// Purpose: one ring per thread in the ring file, so that what is recorded outlives the process.
// Runs: inside the program's malloc, and in the drain.
#pragma once

#include "preload/bounded/fixed_string.h"
#include "preload/state/thread.h"

namespace memtrace::record {

// Creates the ring file. Returns false and leaves nothing behind if that fails.
bool start_rings(const Path& path, std::uint64_t trace_id);
// A new ring file after an exec that failed. Its header counts neither losses nor what threads without a slot
// may count: renew_rings() sees to that.
bool renew_ring_file();

// Writes one record to `thread`'s ring, which it gets on first use. If the ring is full, it grows; if it cannot
// grow, a pass over all rings empties it here. A thread for which the file has no slot uses one that it shares
// with its like. False: the record is lost, and counted by reason.
bool ring_append(Thread& thread, format::RingRecord& record);
// True if a record that was appended is under the number of the shared slot, not its thread's. `commit` says
// so, which is 0 before.
inline bool is_shared(const format::RingRecord& record) {
  return record.commit == format::kSharedThread;
}

// A long ring counts as full some records early, slot 0 and the last chunks are not given out. From now
// on they are, so that what a process says at its end has room whatever the disk takes and however many threads
// there are.
inline constexpr std::uint32_t kRingReserve = 32;
void open_reserve();
bool reserve_is_open();

// Passes over all rings until they are empty of what was recorded before; bounded by the disk.
void drain_rings(bool essential);

// Has this thread a ring, so that it may record more? Pass lock held: no slot loses its owner.
bool has_ring(std::uint32_t thread);

// Sets how many bytes `thread` may count outside of the current file: its part of
// RingFileHeader.uncounted_bound. A thread with a slot in that file has none. Returns false if the slots are
// held for too long.
bool set_uncounted_bound(Thread& thread, std::uint64_t bytes);

// True if nothing recorded waits in any ring.
bool rings_are_empty();

// True if records of this thread wait for the next pass.
bool ring_waits_for_pass(const Thread& thread);
// True if some thread makes a pass. No slot loses its owner while it does.
bool pass_is_under_way();
// The following are about a thread that has ended.
// True if one more record might take a pass.
bool ring_is_half_full(const Thread& thread);
// Writes what is left in a ring of a file that was given up. Returns false if something is left.
bool leave_old_file(Thread& thread);
// Frees its slot. Returns false if a record of it waits to be written, or a pass is under way: ask again later.
bool release_slot(Thread& thread);

// In a forked child: the parent's rings are the parent's. Unmaps nothing, touches nothing of them.
void forget_rings();

} // namespace memtrace::record
