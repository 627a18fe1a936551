// Purpose: the trace file: opens it, appends by one write, closes it. The program has no descriptor of it.
// Runs: in the drain and, when its ring is full, on the program's thread.
#include "preload/trace/trace_file.h"

#include <cerrno>
#include <cstring>

#include "preload/os/clocks.h"
#include "preload/os/files.h"
#include "preload/os/kept_file.h"
#include "preload/os/threads.h"

namespace memtrace::record {

constinit TraceFile trace_file{};

namespace {

constexpr std::uint64_t kEndRoom = 2048;        // for the end record and a note for each reason of loss
constexpr std::uint64_t kLastReserve = 1 << 20; // if there are no windows, a full ring must still fit

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

constexpr std::uint64_t kSlowNs = 200'000'000; // of one append
// After a slow append, the program's threads do not write for this many times its duration.
constexpr std::uint64_t kRestOfSlow = 10;
constexpr std::uint64_t kLookNs = 20'000'000; // between two checks of the thread that writes

constinit std::uint64_t slow_until = 0;
constinit std::uint64_t writing_since = 0; // 0: no thread writes
constinit int writer = 0;                  // tid
constinit std::uint64_t looked = 0;        // when a thread last checked the writer
constinit bool waits = false;              // its result: the writer waits for the disk, not for a processor
constinit long error = 0;
constinit os::KeptFile appended_last{};

// Times an append while it exists. An append is slow only if its thread waited for the disk. A thread that got
// no processor for seconds wrote slowly to a fast disk: with 256 busy threads on two cores, millions of events
// were lost.
class Timed {
 public:
  Timed() : began_(os::monotonic_ns()), switches_(os::voluntary_switches()) {
    __atomic_store_n(&writer, os::thread_id(), __ATOMIC_RELAXED);
    __atomic_store_n(&writing_since, began_, __ATOMIC_RELAXED);
  }
  ~Timed() {
    const std::uint64_t now = os::monotonic_ns();
    __atomic_store_n(&writing_since, 0u, __ATOMIC_RELAXED);
    if (now - began_ < kSlowNs || os::voluntary_switches() == switches_) return;
    __atomic_store_n(&slow_until, now + (now - began_) * kRestOfSlow, __ATOMIC_RELAXED);
  }
  Timed(const Timed&) = delete;
  Timed& operator=(const Timed&) = delete;

 private:
  std::uint64_t began_;
  std::uint64_t switches_;
};

// True if this thread of the process runs or waits for a processor. False if its state cannot be read.
bool is_runnable(int tid) {
  Line<64> path;
  path.add("/proc/self/task/").add(static_cast<std::uint64_t>(tid)).add("/stat");
  char text[512]; // "TID (name) R ..."
  const long fd = os::open_kernel(path.text());
  long at = (fd < 0 ? fd : os::read_all(fd, text, sizeof text)) - 1;
  if (fd >= 0) os::close(fd);
  const long end = at;
  while (at > 0 && text[at] != ')') --at; // the last ')', because a name may contain others
  return at > 0 && at + 2 <= end && text[at + 2] == 'R';
}

// True if the thread that writes waits for the disk.
bool writer_waits(std::uint64_t now) {
  std::uint64_t last = __atomic_load_n(&looked, __ATOMIC_RELAXED);
  if (now - last >= kLookNs &&
      __atomic_compare_exchange_n(&looked, &last, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    __atomic_store_n(&waits, !is_runnable(__atomic_load_n(&writer, __ATOMIC_RELAXED)), __ATOMIC_RELAXED);
  return __atomic_load_n(&waits, __ATOMIC_RELAXED);
}

} // namespace

bool disk_is_slow() {
  const std::uint64_t now = os::monotonic_ns();
  const std::uint64_t since = __atomic_load_n(&writing_since, __ATOMIC_RELAXED);
  return now < __atomic_load_n(&slow_until, __ATOMIC_RELAXED) ||
         (since != 0 && now > since + kSlowNs && writer_waits(now));
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
  trace_file.definitions = 0;
  trace_file.shares = shares_of(max_bytes);
  slow_until = writing_since = 0;
  return true;
}

void set_bound(std::uint64_t max_bytes) {
  trace_file.max_bytes = max_bytes;
  trace_file.shares = shares_of(max_bytes);
}

namespace {
std::size_t stem_bytes() {
  constexpr std::size_t kSuffix = sizeof ".memtrace" - 1;
  return trace_file.path.size() > kSuffix ? trace_file.path.size() - kSuffix : 0;
}
} // namespace

void path_beside_trace(Path* path, const char* suffix, std::uint64_t number) {
  path->clear();
  path->add(trace_file.path.text(), stem_bytes()).add(suffix);
  if (number != ~std::uint64_t{0}) path->add(number);
}

bool is_beside_trace(const char* path, const char* suffix) {
  return std::strncmp(path, trace_file.path.text(), stem_bytes()) == 0 &&
         std::strcmp(path + stem_bytes(), suffix) == 0;
}

std::uint64_t trace_room(Part part) {
  const std::uint64_t bound = bound_of(part), bytes = __atomic_load_n(&trace_file.bytes, __ATOMIC_RELAXED);
  return bytes < bound ? bound - bytes : 0;
}

long append_segment(const char* path, const format::SegmentHeader& header, const std::uint8_t* payload) {
  const Timed timed;
  const long fd = appended_last.open_own(path, os::For::appending);
  const long written = fd < 0 ? fd : os::write_pair(fd, &header, sizeof header, payload, header.payload_bytes);
  if (fd >= 0) appended_last.end_use(fd);
  if (written != static_cast<long>(sizeof header + header.payload_bytes))
    __atomic_store_n(&error, written < 0 ? written : -ENOSPC, __ATOMIC_RELAXED);
  return written;
}

Appended append_to_trace(const format::SegmentHeader& header, const std::uint8_t* payload, Part part) {
  const std::uint64_t bytes = sizeof header + header.payload_bytes;
  if (bytes > trace_room(part)) return Appended::no_room;
  const long written = append_segment(trace_file.path.text(), header, payload);
  // A torn segment takes its room too. The reader skips it.
  if (written > 0) __atomic_fetch_add(&trace_file.bytes, static_cast<std::uint64_t>(written), __ATOMIC_RELAXED);
  return written == static_cast<long>(bytes) ? Appended::yes : Appended::failed;
}

} // namespace memtrace::record
