// Purpose: reads from a ring file, which may be written to right now, the records that are not yet in a
// segment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "preload/format/file_headers.h"

namespace memtrace::trace {

// The records of one thread that were not drained.
struct Leftover {
  std::uint32_t thread = 0;
  std::uint64_t first_sequence = 0;
  format::SmallTotals small{};
  std::vector<format::RingRecord> records;
};

struct Rings {
  format::RingFileHeader header{};
  std::vector<Leftover> slots; // of threads that exist, in the order of the file
  std::uint64_t missing = 0;   // bytes that the file lacks, or that changed while they were read
};

struct RingFile {
  std::optional<Rings> rings;
  std::uint16_t newer = 0; // not 0: the file is of this version, which this memtrace does not know
};

// Reads only the header. Returns nullopt if there is no such file, or if it is not one of `trace_id` that this
// memtrace knows.
std::optional<format::RingFileHeader> read_ring_header(const std::string& path, std::uint64_t trace_id);

// Reads the rings as they are now. Call it before listing the segments: records that are drained in between are
// then in both and taken once. They are never in neither. Returns no rings if there is no such file, or if it
// is not a ring file of `trace_id`.
RingFile read_rings(const std::string& path, std::uint64_t trace_id);

} // namespace memtrace::trace
