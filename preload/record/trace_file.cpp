// Room: record. Runs in the drain and, when its ring is full, on the victim's thread.
// Job: the trace file: opened, appended to in one write, closed. No descriptor is held.
#include "record/trace_file.h"

#include <cstring>

#include "record/os.h"

namespace memtrace::record {

constinit TraceFile trace_file{};

namespace {

constexpr std::uint64_t kEndRoom = 2048;        // for the end record and one note for each reason of loss
constexpr std::uint64_t kLastReserve = 1 << 20; // without windows a full ring must still fit
constinit Path beside{};

std::uint64_t bound_of(Part part) {
  const Shares& shares = trace_file.shares;
  if (shares.window != 0) {
    const std::uint64_t all = shares.head + shares.definitions;
    return part == Part::events ? shares.head : part == Part::last ? all : all - kEndRoom;
  }
  const std::uint64_t eighth = trace_file.max_bytes / 8;
  const std::uint64_t reserve = part == Part::events ? (eighth < kLastReserve ? eighth : kLastReserve) : 0;
  const std::uint64_t taken = reserve + __atomic_load_n(&trace_file.ring_bytes, __ATOMIC_RELAXED);
  return trace_file.max_bytes > taken ? trace_file.max_bytes - taken : 0;
}

} // namespace

bool create_trace_file(const Path& path, std::uint64_t trace_id, std::uint64_t max_bytes) {
  if (path.cut()) return false;
  const long fd = os::create(path.text());
  if (fd < 0) return false;
  os::close(fd);
  trace_file.path = path;
  trace_file.trace_id = trace_id;
  trace_file.bytes = 0;
  trace_file.max_bytes = max_bytes;
  trace_file.definitions = 0;
  trace_file.shares = shares_of(max_bytes);
  return true;
}

const Path& beside_trace(const char* suffix, std::uint64_t number) {
  constexpr std::size_t kSuffix = sizeof ".memtrace" - 1;
  beside.clear();
  beside.add(trace_file.path.text(), trace_file.path.size() - kSuffix).add(suffix);
  if (number != ~std::uint64_t{0}) beside.add(number);
  return beside;
}

std::uint64_t trace_room(Part part) {
  const std::uint64_t bound = bound_of(part), bytes = __atomic_load_n(&trace_file.bytes, __ATOMIC_RELAXED);
  return bytes < bound ? bound - bytes : 0;
}

bool append_segment(const char* path, const format::SegmentHeader& header, const std::uint8_t* payload) {
  const long fd = os::open_append(path);
  const long written = fd < 0 ? fd : os::write_pair(fd, &header, sizeof header, payload, header.payload_bytes);
  if (fd >= 0) os::close(fd);
  return written >= 0;
}

Appended append_to_trace(const format::SegmentHeader& header, const std::uint8_t* payload, Part part) {
  const std::uint64_t bytes = sizeof header + header.payload_bytes;
  if (bytes > trace_room(part)) return Appended::no_room;
  if (!append_segment(trace_file.path.text(), header, payload)) return Appended::failed;
  __atomic_fetch_add(&trace_file.bytes, bytes, __ATOMIC_RELAXED);
  return Appended::yes;
}

} // namespace memtrace::record
