// Purpose: the addresses of a child that held memory of its parent when the child began to record. The child
// does not know its parent's blocks one by one, and the kernel does not tell when a page of the child was
// created.
// Runs: in a forked child, once when it begins to record; then on its background thread. count_copied(): on a thread
// of the program.
#pragma once

#include <cstdint>

namespace memtrace::record {

// Reads the present mappings. Later mappings are the child's own. So is memory that came between the fork and
// this call: at most a MiB, or the memory of one second.
void note_inherited();
void forget_inherited(); // in a forked child
bool inherited_is_noted();
// Returns the bytes of the inherited pages that the process has copied, or kNotSaid if it is not a forked child
// or has so much memory that the count takes too long. The program waits for it. Not for two threads at a time.
std::uint64_t count_copied();

// Gives `take` the parts of a range that the parent had, in order of address.
template <class Take>
void each_inherited(std::uint64_t start, std::uint64_t end, Take take);

// --- implementation ---

struct InheritedPart {
  std::uint64_t start;
  std::uint64_t end;
};
// Returns the parts in order of address. Parts at the highest addresses are missing if the list is full, or if
// the time to read the mappings was over.
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
