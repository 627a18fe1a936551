// Purpose: which of a child's addresses held memory of its parent when it began to record. Its parent's blocks
// are not known to it one by one, and the kernel does not say when a page of its own came.
// Runs: in a forked child, once when it begins to record; then on its background thread.
#pragma once

#include <cstdint>

namespace memtrace::record {

// Reads the mappings as they are now. What is mapped later is the child's own; so is memory that came between
// the fork and this, at most a MiB or what a second brought.
void note_inherited();
void forget_inherited(); // in a forked child
bool inherited_is_noted();

// The parts of a range that the parent had, in order of address.
template <class Take>
void each_inherited(std::uint64_t start, std::uint64_t end, Take take);

// --- implementation ---

struct InheritedPart {
  std::uint64_t start;
  std::uint64_t end;
};
// In order of address. What came after the last that had room is not known.
const InheritedPart* inherited_parts(std::uint32_t* count);

template <class Take>
void each_inherited(std::uint64_t start, std::uint64_t end, Take take) {
  std::uint32_t count = 0;
  const InheritedPart* const parts = inherited_parts(&count);
  for (std::uint32_t i = 0; i < count && parts[i].start < end; ++i) {
    const std::uint64_t from = parts[i].start > start ? parts[i].start : start;
    const std::uint64_t to = parts[i].end < end ? parts[i].end : end;
    if (from < to) take(from, to);
  }
}

} // namespace memtrace::record
