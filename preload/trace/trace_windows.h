// Purpose: where what is recorded goes: the trace file, then windows that are used again; and what is folded
// meanwhile.
// Runs: in the drain and, when its ring is full, on the program's thread, pass lock held.
#pragma once

#include "preload/bounded/spin_lock.h"
#include "preload/rollup/rollup.h"
#include "preload/trace/trace_file.h"

namespace memtrace::record {

// Who holds it may append to the trace's files and fold. Bounded, as every lock here.
extern constinit SpinLock pass_lock;
extern constinit rollup::Rollup folded;

// A trace begins; a forked child says what it inherited, in bytes. The rollup calls `copy_text` for the text of
// an id, and `has_ring` for whether a thread may record more.
using CopyText = std::size_t (*)(format::TextId id, char* out, std::size_t capacity);
using HasRing = bool (*)(std::uint32_t thread);
void start_windows(bool forked, std::int64_t live, std::int64_t tensor, CopyText copy_text, HasRing has_ring);
// In a forked child: they are the parent's.
void forget_windows();

// Begins a new window when the current file is nearly full. False: it should have and could not, for the disk.
bool rotate_if_due();
// 0: the trace file.
std::uint32_t current_window();
// Bytes that one more segment may have, header included. `last`: see Part.
std::uint64_t events_room(bool last);
Appended append_events(const format::SegmentHeader& header, const std::uint8_t* payload, bool last);

// Definitions and facts that go to a window go to the trace file too. Noted one by one, written at once by
// write_late(), or when there are many.
bool is_late(std::uint8_t type);
void note_late(const format::RingRecord& record);
void note_late_text(format::TextId id, const char* text, std::size_t bytes);
void write_late();

// Returns the bytes of the buffers in which definitions and snapshots are coded.
std::uint64_t window_buffer_bytes();

// The orderly end: what is not over is folded as far as it went.
void close_windows();

} // namespace memtrace::record
