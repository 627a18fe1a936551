// Purpose: the addresses of a child that held memory of its parent when the child began to record.
// Runs: in a forked child, once when it begins to record; then on its background thread.
#include "preload/rss/inherited_ranges.h"

#include "preload/kernel/look_budget.h"
#include "preload/kernel/proc_maps.h"

namespace memtrace::record {
namespace {

constexpr std::uint64_t kLookNs = 20'000'000; // the program waits for it; a million mappings take 1 s
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

const InheritedPart* inherited_parts(std::uint32_t* count) {
  *count = used;
  return parts;
}

} // namespace memtrace::record
