// Purpose: mlockall applies to the program's memory: the recorder's own is not locked and does not count
// against the limit.
// Runs: inside the program's mlockall.
#include "preload/process/memory_locks.h"

#include <cstring>

#include "preload/bounded/fork_locks.h"
#include "preload/kernel/proc_maps.h"
#include "preload/os/files.h"
#include "preload/os/mappings.h"
#include "preload/os/recorder_mappings.h"
#include "preload/ring/ring_file.h"
#include "preload/trace/trace_file.h"

// Symbols of the linker: the start and the end of this library in memory.
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[];
extern "C" __attribute__((visibility("hidden"))) const char _end[];

namespace memtrace::record {
namespace {

constexpr std::uint64_t kPage = 4096;

struct LockedRange {
  std::uint64_t start;
  std::uint64_t end;
};

// The program's threads read maps into this buffer. The background thread has a reader with a buffer of its
// own.
constinit char text[16 * 1024];
constinit Mapping one{};
constinit SpinLock maps_lock;
REGISTER_LOCK(maps_lock, nullptr);

std::uint64_t address(const void* at) {
  return reinterpret_cast<std::uint64_t>(at);
}

// True if `path` is the ring file or the rollup file, which are mapped shared.
bool is_own_file(const char* path) {
  constexpr std::size_t kSuffix = sizeof ".memtrace" - 1;
  const std::size_t stem = trace_file.path.size();
  if (*path == '\0' || ring_header() == nullptr || stem <= kSuffix) return false;
  return std::strcmp(path, ring_path().text()) == 0 ||
         std::strncmp(path, trace_file.path.text(), stem - kSuffix) == 0;
}

LockedRange library() {
  return {address(__ehdr_start) & ~(kPage - 1), (address(_end) + kPage - 1) & ~(kPage - 1)};
}

// Returns the first range of the recorder's own that reaches into [from, end); an empty one if there is none.
LockedRange first_own(std::uint64_t from, std::uint64_t end) {
  LockedRange first{end, end};
  const auto consider = [&](LockedRange own) {
    if (own.start < end && own.end > from && own.start < first.start) first = own;
  };
  consider(library());
  for (const NotedRange& range : own_ranges()) {
    const std::uint64_t start = __atomic_load_n(&range.start, __ATOMIC_ACQUIRE);
    if (start != 0) consider({start, start + ((range.bytes + kPage - 1) & ~(kPage - 1))});
  }
  return first;
}

// Gives the parts of a mapping to `take(start, bytes, own)`. The kernel merges the recorder's mappings with the
// program's next to them.
template <class Take>
void split(const Mapping& mapping, Take take) {
  if (is_own_file(mapping.path)) return take(mapping.start, mapping.end - mapping.start, true);
  for (std::uint64_t at = mapping.start; at < mapping.end;) {
    const LockedRange own = first_own(at, mapping.end);
    if (own.start > at) take(at, own.start - at, false);
    if (own.start >= mapping.end) return;
    const std::uint64_t from = own.start > at ? own.start : at;
    const std::uint64_t to = own.end < mapping.end ? own.end : mapping.end;
    take(from, to - from, true);
    at = to;
  }
}

template <class Take>
bool each_part(Take take) {
  const Locked only_one(maps_lock);
  const long fd = only_one ? os::open_kernel("/proc/self/maps") : -1;
  if (fd < 0) return false;
  std::size_t have = 0;
  for (long got; (got = os::read_once(fd, text + have, sizeof text - have)) > 0;) {
    have += static_cast<std::size_t>(got);
    std::size_t done = 0;
    for (const char* end; (end = static_cast<char*>(std::memchr(text + done, '\n', have - done))) != nullptr;) {
      const auto after = static_cast<std::size_t>(end - text);
      if (parse_mapping(text + done, after - done, &one)) split(one, take);
      done = after + 1;
    }
    std::memmove(text, text + done, have - done);
    have -= done;
  }
  os::close(fd);
  return true;
}

} // namespace

std::uint64_t program_bytes() {
  std::uint64_t bytes = 0;
  const bool whole = each_part([&](std::uint64_t, std::uint64_t part, bool own) { bytes += own ? 0 : part; });
  return whole ? bytes : ~std::uint64_t{0};
}

void lock_program(bool on_fault) {
  each_part([&](std::uint64_t start, std::uint64_t bytes, bool own) {
    if (!own) os::lock(start, bytes, on_fault);
  });
}

void unlock_own() {
  each_part([](std::uint64_t start, std::uint64_t bytes, bool own) {
    if (own) os::unlock(start, bytes);
  });
}

} // namespace memtrace::record
