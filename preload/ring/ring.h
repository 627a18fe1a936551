// Purpose: one ring per thread in the ring file, so that records survive the process.
// Runs: inside the program's malloc, and in the drain.
#pragma once

#include "preload/bounded/fixed_string.h"
#include "preload/state/thread.h"

namespace memtrace::record {

// Creates the ring file. Returns false and leaves nothing behind if that fails.
bool start_rings(const Path& path, std::uint64_t trace_id);
// Makes a new ring file after a failed exec. Its header lacks the losses, and the bytes that threads without a
// slot may count. renew_rings() adds them.
bool renew_ring_file();

// Writes one record to `thread`'s ring, which it gets on first use. If the ring is full, it grows. If it cannot
// grow, this thread makes a pass over all rings. Threads for which the file has no slot share one. Returns
// false if the record is lost; the loss is counted by reason.
bool ring_append(Thread& thread, format::RingRecord& record);
// True if an appended record has the thread number of the shared slot. `commit` is 0 before, and kSharedThread
// then.
inline bool is_shared(const format::RingRecord& record) {
  return record.commit == format::kSharedThread;
}

// Until open_reserve(), a long ring counts as full this many records early, and slot 0 and the last chunks are
// not given out. Afterwards the records of the process's end can use this room, however slow the disk is and
// however many threads there are.
inline constexpr std::uint32_t kRingReserve = 32;
void open_reserve();
bool reserve_is_open();

// Makes passes until all records from before the call are written. The disk bounds this.
void drain_rings(bool essential);

// True if this thread has a ring, so that it may record more. The caller holds the pass lock, so no slot loses
// its owner.
bool has_ring(std::uint32_t thread);

// Sets how many bytes `thread` may count outside of the current file: its part of
// RingFileHeader.uncounted_bound. The part of a thread with a slot in that file is 0. Returns false if the
// slots lock is not free in time.
bool set_uncounted_bound(Thread& thread, std::uint64_t bytes);

// True if no ring has a waiting record.
bool rings_are_empty();

// True if records of this thread wait for the next pass.
bool ring_waits_for_pass(const Thread& thread);
// True if a thread makes a pass. Until the pass ends, no slot loses its owner.
bool pass_is_under_way();
// The following functions are about a thread that has ended.
// True if one more record could need a pass.
bool ring_is_half_full(const Thread& thread);
// Writes the remaining records in a ring of an abandoned file. Returns false if some remain.
bool leave_old_file(Thread& thread);
// Frees the thread's slot. Returns false if one of its records waits, or a pass is under way. The caller then
// tries again later.
bool release_slot(Thread& thread);

// Forgets the rings in a forked child, because they are the parent's. It does not unmap or change them.
void forget_rings();

} // namespace memtrace::record
