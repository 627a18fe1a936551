// Room: record. Runs in the drain and, when its ring is full, on the victim's thread.
// Job: the trace file: opened, appended to in one write, closed. No descriptor is held.
#include "record/trace_file.h"

#include <cerrno>

#include "record/os.h"

namespace memtrace::record {

constinit TraceFile trace_file{};

namespace {
constexpr std::uint64_t kEssentialReserve = 1 << 20;
constexpr std::uint64_t kSlowNs = 200'000'000; // of one append; not the scheduler's doing
constexpr std::uint64_t kRestOfSlow = 10;      // so many times as long nobody of the program's writes

constinit std::uint64_t slow_until = 0;
constinit std::uint64_t writing_since = 0; // 0: nobody is
constinit long error = 0;

// An append while it lives.
class Timed {
 public:
  Timed() : began_(os::monotonic_ns()) { __atomic_store_n(&writing_since, began_, __ATOMIC_RELAXED); }
  ~Timed() {
    const std::uint64_t now = os::monotonic_ns();
    __atomic_store_n(&writing_since, 0u, __ATOMIC_RELAXED);
    if (now - began_ < kSlowNs) return;
    __atomic_store_n(&slow_until, now + (now - began_) * kRestOfSlow, __ATOMIC_RELAXED);
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  std::uint64_t began_;
};

// Bytes of it that are in the file, or a negative errno.
long append(const format::SegmentHeader& header, const std::uint8_t* payload) {
  const Timed timed;
  const long fd = os::open_append(trace_file.path.text());
  if (fd < 0) return fd;
  const long written = os::write_pair(fd, &header, sizeof header, payload, header.payload_bytes);
  os::close(fd);
  return written;
}

} // namespace

bool disk_is_slow() {
  const std::uint64_t now = os::monotonic_ns();
  const std::uint64_t since = __atomic_load_n(&writing_since, __ATOMIC_RELAXED);
  return now < __atomic_load_n(&slow_until, __ATOMIC_RELAXED) || (since != 0 && now > since + kSlowNs);
}
long disk_error() {
  return __atomic_load_n(&error, __ATOMIC_RELAXED);
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
  slow_until = writing_since = 0;
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
  const long written = append(header, payload);
  if (written == static_cast<long>(bytes)) return Appended::yes;
  // A part that is there, torn, takes its room, and the reader passes over it.
  const std::uint64_t torn = written > 0 ? static_cast<std::uint64_t>(written) : 0;
  __atomic_fetch_sub(&trace_file.bytes, bytes - torn, __ATOMIC_RELAXED);
  __atomic_store_n(&error, written < 0 ? written : -ENOSPC, __ATOMIC_RELAXED);
  return Appended::failed;
}

} // namespace memtrace::record
