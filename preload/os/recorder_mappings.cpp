// Purpose: remembers the recorder's own private mappings, because the kernel merges them with adjacent ones of
// the program.
// Runs: on any thread.
#include "preload/os/recorder_mappings.h"

namespace memtrace::record {
namespace {

constinit OwnRanges ranges{};

std::uint64_t word(const void* address) {
  return reinterpret_cast<std::uint64_t>(address);
}

} // namespace

void note_own(const void* address, std::size_t bytes) {
  ranges.note(word(address), bytes);
}

void forget_own(const void* address) {
  ranges.forget(word(address));
}

void own_stays_behind(const void* address) {
  if (NotedRange* const range = ranges.find(word(address)); range != nullptr) range->stays_behind = true;
}

void forget_own_of_parent() {
  for (NotedRange& range : ranges)
    if (range.stays_behind) range = {};
}

const OwnRanges& own_ranges() {
  return ranges;
}

} // namespace memtrace::record
