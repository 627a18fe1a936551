// Purpose: the segment that names the version of memtrace in the trace file.
// Runs: when recording begins.
#include "preload/trace/writer_segment.h"

#include <cstring>

#include "preload/format/crc32c.h"
#include "preload/trace/trace_file.h"

namespace memtrace::record {

// An older memtrace cannot decode the records of a newer one. So the text is not a record: every version can
// read it, and name the memtrace that reads the rest.
void write_writer_segment() {
  static constexpr char text[] = MEMTRACE_VERSION;
  constexpr std::uint32_t bytes = sizeof text - 1;
  static_assert(bytes <= format::kLongestWriter);
  const auto* const payload = reinterpret_cast<const std::uint8_t*>(text);
  format::SegmentHeader header{};
  std::memcpy(header.magic, format::kSegmentMagic, sizeof header.magic);
  header.version = format::kVersion;
  header.source = static_cast<std::uint8_t>(format::Source::writer);
  header.payload_bytes = bytes;
  header.trace_id = trace_file.trace_id;
  header.checksum = format::checksum(format::checksum(0, &header, sizeof header), payload, bytes);
  append_to_trace(header, payload, Part::definitions);
}

} // namespace memtrace::record
