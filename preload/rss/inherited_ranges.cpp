// Purpose: the addresses of a child that held memory of its parent when the child began to record.
// Runs: in a forked child, once when it begins to record; then on its background thread. count_copied(): on a thread
// of the program.
#include "preload/rss/inherited_ranges.h"

#include "preload/format/file_headers.h"
#include "preload/format/records.h"
#include "preload/kernel/look_budget.h"
#include "preload/kernel/proc_maps.h"
#include "preload/os/files.h"

namespace memtrace::record {
namespace {

constexpr std::uint64_t kLookNs = 20'000'000; // the program waits for it; a million mappings take 1 s
constexpr std::size_t kEntries = 512;         // of pagemap, in one read: 20 ns each
constexpr std::uint32_t kMost = 1024;         // a worker of PyTorch has some 400; neighbours count as one

constinit InheritedPart parts[kMost] = {};
constinit std::uint32_t used = 0;
constinit bool noted = false;

void add(std::uint64_t start, std::uint64_t end) {
  if (used != 0 && parts[used - 1].end == start) {
    parts[used - 1].end = end;
  } else if (used < kMost) {
    parts[used++] = {start, end};
  }
}

// Adds the pages of a part that are in memory and no other process has. Returns false if the turn is over.
bool add_copied(long fd, const InheritedPart& part, const Turn& turn, std::uint64_t* copied) {
  constexpr std::uint64_t kPresent = std::uint64_t{1} << 63, kOfFile = std::uint64_t{1} << 61,
                          kExclusive = std::uint64_t{1} << 56;
  static constinit std::uint64_t entries[kEntries] = {};
  for (std::uint64_t at = part.start; at < part.end;) {
    if (turn.is_over()) return false;
    const std::uint64_t left = (part.end - at) / format::kPage;
    const std::uint64_t wanted = left < kEntries ? left : kEntries;
    const long got = os::read_at(fd, at / format::kPage * sizeof *entries, entries, wanted * sizeof *entries);
    if (got < static_cast<long>(sizeof *entries)) return false;
    const std::uint64_t pages = static_cast<std::uint64_t>(got) / sizeof *entries;
    for (std::uint64_t i = 0; i < pages; ++i)
      if ((entries[i] & (kPresent | kOfFile | kExclusive)) == (kPresent | kExclusive)) *copied += format::kPage;
    at += pages * format::kPage;
  }
  return true;
}

} // namespace

void note_inherited() {
  static constinit Mapping mapping{};
  static constinit MapsReader maps{};
  used = 0;
  noted = true;
  const Turn turn(kLookNs);
  maps.forget();
  for (maps.open(); maps.next(&mapping) && used < kMost && !turn.is_over();)
    if (is_anonymous(mapping) && mapping.readable && !mapping.shared) add(mapping.start, mapping.end);
  maps.close();
}

void forget_inherited() {
  used = 0;
  noted = false;
}

bool inherited_is_noted() {
  return noted;
}

std::uint64_t count_copied() {
  if (!noted) return format::kNotSaid;
  const long fd = os::open_kernel("/proc/self/pagemap");
  if (fd < 0) return format::kNotSaid;
  const Turn turn(kLookNs);
  std::uint64_t copied = 0;
  bool whole = used < kMost;
  for (std::uint32_t i = 0; i < used && whole; ++i) whole = add_copied(fd, parts[i], turn, &copied);
  os::close(fd);
  return whole ? copied : format::kNotSaid;
}

const InheritedPart* inherited_parts(std::uint32_t* count) {
  *count = used;
  return parts;
}

} // namespace memtrace::record
