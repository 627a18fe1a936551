// Purpose: the trace file: opened, appended to in one write, closed. No descriptor is held.
// Runs: in the drain and, when its ring is full, on the program's thread.
#pragma once

#include "preload/bounded/fixed_string.h"
#include "preload/format/file_headers.h"
#include "preload/trace/file_budget.h"

namespace memtrace::record {

struct TraceFile {
  Path path;
  std::uint64_t trace_id = 0;
  std::uint64_t bytes = 0;     // written so far, atomically updated
  std::uint64_t max_bytes = 0; // of all files
  std::uint64_t ring_bytes = 0;
  std::uint64_t definitions = 0; // records of the source `definitions`, thread 0
  Shares shares;
};
extern constinit TraceFile trace_file;

// Creates it, new. False with nothing left behind when it cannot be.
bool create_trace_file(const Path& path, std::uint64_t trace_id, std::uint64_t max_bytes);

// All files may have so many bytes from now on, more than before.
void set_bound(std::uint64_t max_bytes);

// Makes `path` that of another file of this trace: its own with `suffix` for `.memtrace`, then `number`. The
// buffer is the caller's: when all shared one, the drain changed it between a pass and its write, and whole
// segments went to the file of rows.
void path_beside_trace(Path* path, const char* suffix, std::uint64_t number = ~std::uint64_t{0});
// True if `path` is that of this trace's other file with `suffix`.
bool is_beside_trace(const char* path, const char* suffix);
// Its disk is slow just now, or hangs: a thread of the program's should not write to it.
bool disk_is_slow();
// Why the last append failed, a negative errno.
long disk_error();

enum class Appended { yes, no_room, failed };
// Whose room in the file a segment takes.
enum class Part {
  events,      // up to where windows begin
  definitions, // these have a share of their own
  last,        // the end, and what was lost: a little is kept for them
};
std::uint64_t trace_room(Part part);
Appended append_to_trace(const format::SegmentHeader& header, const std::uint8_t* payload, Part part);

// One segment into any file: one write. Bytes of it that are there now, all or, torn, some; or a negative
// errno.
long append_segment(const char* path, const format::SegmentHeader& header, const std::uint8_t* payload);

} // namespace memtrace::record
