// Room: record. Runs inside the victim's malloc, and in the drain.
// Job: one ring per thread in a shared file, so that what is recorded outlives the process.
#pragma once

#include "format/header.h"
#include "record/line.h"
#include "record/thread.h"

namespace memtrace::record {

// Creates the ring file, header only. False with nothing left behind when it cannot be.
bool create_ring_file(const Path& path, std::uint64_t trace_id);
// Unlinks it; the mappings stay valid.
void remove_ring_file();
// A new one after an exec that failed: each thread leaves its old ring, drained, with its next record.
bool renew_ring_file();
const Path& ring_path();
format::RingFileHeader* ring_header(); // null before there is a file

// Writes one record to `thread`'s ring, which it gets on first use. A full ring is emptied here, by a pass over
// all of them. False: lost, and counted by reason.
bool ring_append(Thread& thread, format::RingRecord& record);

// A ring counts as full some records early; from now on it does not: what a process says at its end has room
// though the disk takes nothing.
inline constexpr std::uint32_t kRingReserve = 32;
void open_reserve();

// Passes over all rings until they are empty of what was recorded before; bounded by the disk.
void drain_rings(bool essential);

// Has this thread a ring, so that it may record more?
bool has_ring(std::uint32_t thread);

// True if nothing recorded waits in any ring.
bool rings_are_empty();

// Publishes what an ended thread left and frees its ring. False when its ring cannot be drained now.
bool ring_release(Thread& thread);

// In a forked child: the parent's rings are the parent's. Unmaps nothing, touches nothing of them.
void forget_rings();

} // namespace memtrace::record
