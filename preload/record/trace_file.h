// Room: record. Runs in the drain and, when its ring is full, on the victim's thread.
// Job: the trace file: opened, appended to in one write, closed. No descriptor is held.
#pragma once

#include "format/header.h"
#include "record/line.h"

namespace memtrace::record {

struct TraceFile {
  Path path;
  std::uint64_t trace_id = 0;
  std::uint64_t bytes = 0;     // written so far, atomically updated
  std::uint64_t max_bytes = 0; // ring file included
  std::uint64_t ring_bytes = 0;
};
extern constinit TraceFile trace_file;

// Creates it, new. False with nothing left behind when it cannot be.
bool create_trace_file(const Path& path, std::uint64_t trace_id, std::uint64_t max_bytes);

// Its disk is slow just now, or hangs: a thread of the program's should not write to it.
bool disk_is_slow();
// Why the last append failed, a negative errno.
long disk_error();

enum class Appended { yes, no_room, failed };
// `essential` segments (definitions, the end) may exceed the bound by a little.
Appended append_segment(const format::SegmentHeader& header, const std::uint8_t* payload, bool essential);

} // namespace memtrace::record
