// Purpose: the trace file: opens it, appends by one write, closes it. No descriptor stays open.
// Runs: in the drain and, when its ring is full, on the program's thread.
#pragma once

#include "preload/bounded/fixed_string.h"
#include "preload/format/file_headers.h"
#include "preload/trace/file_budget.h"

namespace memtrace::record {

struct TraceFile {
  Path path;
  std::uint64_t trace_id = 0;
  std::uint64_t bytes = 0;     // written so far; updated atomically
  std::uint64_t max_bytes = 0; // of all files
  std::uint64_t ring_bytes = 0;
  std::uint64_t definitions = 0; // records of the source `definitions`, thread 0
  Shares shares;
};
extern constinit TraceFile trace_file;

// Creates the trace file. Returns false and leaves no file if that fails.
bool create_trace_file(const Path& path, std::uint64_t trace_id, std::uint64_t max_bytes);

// Sets a larger bound for all files together.
void set_bound(std::uint64_t max_bytes);

// Sets `path` to another file of this trace: the trace file's path, with `suffix` instead of `.memtrace`, then
// `number`. Without `number` nothing follows. The caller owns the buffer. When all callers shared one, the
// drain changed it between a pass and its write, and whole segments went to STEM.coarse.
void path_beside_trace(Path* path, const char* suffix, std::uint64_t number = ~std::uint64_t{0});
// True if `path` is the path of this trace's file with `suffix`.
bool is_beside_trace(const char* path, const char* suffix);
// True if the disk is slow now, or hangs. A thread of the program should then not write to it.
bool disk_is_slow();
// Returns the reason why the last failed append failed, a negative errno; 0 if none failed.
long disk_error();

enum class Appended { yes, no_room, failed };
// The part of the file's room that a segment takes.
enum class Part {
  events,      // until windows begin
  definitions, // they have room of their own
  last,        // the end and the losses: a little room is reserved for them
};
std::uint64_t trace_room(Part part);
Appended append_to_trace(const format::SegmentHeader& header, const std::uint8_t* payload, Part part);

// Appends one segment to any file by one write. Returns the bytes of it that the file has now, fewer if it is
// torn, or a negative errno.
long append_segment(const char* path, const format::SegmentHeader& header, const std::uint8_t* payload);

} // namespace memtrace::record
