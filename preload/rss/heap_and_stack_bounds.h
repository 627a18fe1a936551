// Purpose: the contents of mappings without a name: zeroed data of libraries, glibc's heaps, stacks of threads.
// The kernel merges them with their neighbours.
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

// Returns the end of the library whose memory contains `address`, or 0. The zeroed data of a library lies
// behind its file. `ours`: set to whether the library is memtrace's.
std::uint64_t library_end(std::uint64_t address, bool* ours);

// Returns the last heap of the allocator that begins in [start, end), a resident part of an anonymous mapping.
// Empty bounds: none begins there. It ends where the allocator's count ends: a heap that shrank has writable
// pages behind it.
AddressBounds heap_within(const Mapping& one, std::uint64_t start, std::uint64_t end);

// Returns the stack of a thread in an anonymous mapping; empty bounds: there is none. A stack of glibc begins
// above a page that cannot be read. The kernel may have merged the stack with the mapping above it.
AddressBounds stack_within(const Mapping& one, const AddressBounds& guard);

} // namespace memtrace::record
