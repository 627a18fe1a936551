// Purpose: what lies in a mapping that has no name: libraries' zeroed data, glibc's heaps, stacks of threads.
// The kernel merges them with what lies beside them.
// Runs: on the background thread.
#pragma once

#include <cstdint>

#include "preload/kernel/proc_maps.h"

namespace memtrace::record {

struct AddressBounds {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  bool holds(std::uint64_t address) const { return address >= start && address < end; }
};

// A library's zeroed data lies behind its file. Its end if `address` is in one, else 0. `ours`: it is
// memtrace's.
std::uint64_t library_end(std::uint64_t address, bool* ours);

// The allocator's own pages in an anonymous mapping, as far as they begin in [start, end), which is in memory.
AddressBounds heap_within(const Mapping& one, std::uint64_t start, std::uint64_t end);

// A thread's stack in an anonymous mapping: glibc's begin above a page that cannot be read. What lies above one
// may have become one mapping with it.
AddressBounds stack_within(const Mapping& one, const AddressBounds& guard);

} // namespace memtrace::record
