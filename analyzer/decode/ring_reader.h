// Purpose: a ring file, maybe being written to right now -> what is not yet in a segment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "preload/format/file_headers.h"

namespace memtrace::trace {

// What one thread recorded and nobody drained.
struct Leftover {
  std::uint32_t thread = 0;
  std::uint64_t first_sequence = 0;
  format::SmallTotals small{};
  std::vector<format::RingRecord> records;
};

struct Rings {
  format::RingFileHeader header{};
  std::vector<Leftover> slots; // of threads that exist, in the order of the file
  std::uint64_t missing = 0;   // bytes that it should have and has not, or that changed while they were read
};

// Reads a snapshot. Call it before listing the segments: what is drained in between is then in both and taken
// once, never in neither. Nothing when there is no such file, or it is no ring file of `trace_id`.
std::optional<Rings> read_rings(const std::string& path, std::uint64_t trace_id);

} // namespace memtrace::trace
