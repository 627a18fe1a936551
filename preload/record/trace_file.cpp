// Room: record. Runs in the drain and, when its ring is full, on the victim's thread.
// Job: the trace file: opened, appended to in one write, closed. No descriptor is held.
#include "record/trace_file.h"

#include "record/os.h"

namespace memtrace::record {

constinit TraceFile trace_file{};

namespace {
constexpr std::uint64_t kEssentialReserve = 1 << 20;
}

bool create_trace_file(const Path& path, std::uint64_t trace_id, std::uint64_t max_bytes) {
  if (path.cut()) return false;
  const long fd = os::create(path.text());
  if (fd < 0) return false;
  os::close(fd);
  trace_file.path = path;
  trace_file.trace_id = trace_id;
  trace_file.bytes = 0;
  trace_file.max_bytes = max_bytes;
  return true;
}

Appended append_segment(const format::SegmentHeader& header, const std::uint8_t* payload, bool essential) {
  const std::uint64_t bytes = sizeof header + header.payload_bytes;
  const std::uint64_t eighth = trace_file.max_bytes / 8;
  const std::uint64_t bound = trace_file.max_bytes - (eighth < kEssentialReserve ? eighth : kEssentialReserve);
  const std::uint64_t before = __atomic_fetch_add(&trace_file.bytes, bytes, __ATOMIC_RELAXED);
  if (!essential && before + bytes + __atomic_load_n(&trace_file.ring_bytes, __ATOMIC_RELAXED) > bound) {
    __atomic_fetch_sub(&trace_file.bytes, bytes, __ATOMIC_RELAXED);
    return Appended::no_room;
  }
  const long fd = os::open_append(trace_file.path.text());
  const long written = fd < 0 ? fd : os::write_pair(fd, &header, sizeof header, payload, header.payload_bytes);
  if (fd >= 0) os::close(fd);
  if (written >= 0) return Appended::yes;
  __atomic_fetch_sub(&trace_file.bytes, bytes, __ATOMIC_RELAXED);
  return Appended::failed;
}

} // namespace memtrace::record
