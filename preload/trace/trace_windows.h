// Purpose: writes records to the trace file, then to windows, which are reused; the rollup gets them too. Large
// files get keyframes.
// Runs: in the drain and, when its ring is full, on the program's thread; the pass lock is held.
#pragma once

#include "preload/bounded/spin_lock.h"
#include "preload/rollup/rollup.h"
#include "preload/trace/trace_file.h"

namespace memtrace::record {

// The thread that holds this lock may append to the trace's files and apply records to the rollup. Like each
// lock of the recorder, it gives up after a time.
extern constinit SpinLock pass_lock;
extern constinit rollup::Rollup folded;

// Starts the rollup of a new trace. `live` and `tensor` are the bytes that a forked child inherited. The rollup
// calls `copy_text` for the text of an id, and `has_ring` to learn whether a thread may record more.
using CopyText = std::size_t (*)(format::TextId id, char* out, std::size_t capacity);
using HasRing = bool (*)(std::uint32_t thread);
void start_windows(bool forked, std::int64_t live, std::int64_t tensor, CopyText copy_text, HasRing has_ring);
// Forgets the windows, which are the parent's, in a forked child.
void forget_windows();

// Begins a new window if the current file is nearly full, else a new stretch if the current one is long.
// Returns false if it had to begin a window but could not because of the disk.
bool rotate_if_due();
// Returns the number of the current window; 0: the trace file.
std::uint32_t current_window();
// Returns the number of stretches that began. 0: the first one of the trace file. In each, the coding of
// records begins anew, and definitions are written apart from other records.
std::uint32_t current_stretch();
// Returns the bytes that one more segment may have, with its header. `last`: see Part.
std::uint64_t events_room(bool last);
Appended append_events(const format::SegmentHeader& header, const std::uint8_t* payload, bool last);

// Definitions and facts go to the trace file apart from other records, too, once a reader may leave out some
// stretches. is_late() is true for their types. note_late() collects them. write_late() writes them, and
// note_late() calls it if its buffer is full.
bool is_late_fact(std::uint8_t type);
inline bool is_late(std::uint8_t type) {
  return type > static_cast<std::uint8_t>(format::EventType::death) && is_late_fact(type);
}
void note_late(const format::RingRecord& record);
void note_late_text(format::TextId id, const char* text, std::size_t bytes);
void write_late();

// Returns the bytes of the buffers in which definitions and snapshots are coded.
std::uint64_t window_buffer_bytes();

// Closes the rollup at an orderly end. Unfinished steps and phases count as far as they went.
void close_windows();

} // namespace memtrace::record
