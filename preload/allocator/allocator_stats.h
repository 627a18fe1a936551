// Purpose: free memory that the program's allocator has not returned to the kernel.
// Runs: in the constructor, and on the program's threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/os/address_ranges.h"

namespace memtrace::record {

// Finds the allocator that the program's `malloc` reaches: glibc's or another. Only at load, because it looks
// up names.
void find_allocator(bool glibc, const void* malloc_function);

// Mappings of a foreign allocator are the memory of its blocks, also those that it makes outside of `malloc`.
// jemalloc has its own `operator new`, which passes no hook. `return_address` is in the caller of `mmap`.
// Always false for glibc, whose mappings pass no hook.
void find_allocator_library(); // once, after find_modules_by()
bool is_in_allocator(const void* return_address);
void allocator_mapped(const void* address, std::size_t bytes);
// Notes a mapping that is made before the libraries are known: jemalloc maps 3 MiB of tables in the first
// malloc, before memtrace's constructor.
void mapped_early(const void* address, std::size_t bytes, const void* return_address);
void allocator_unmapped(const void* address);
// The ranges that the allocator has mapped; empty for glibc. Parts that it unmapped again are still included.
// Such a part may be unmapped, or hold another mapping.
using AllocatorRanges = NotedRanges<256>; // 256 are enough: each range of jemalloc is a quarter larger
const AllocatorRanges& allocator_ranges();

struct KeptFree {
  std::uint64_t bytes = 0;  // free, and not given back to the kernel; at most, some was never touched
  std::uint64_t in_use = 0; // usable bytes of all live blocks, from any function; 0: not known
  bool by_chunks = false;   // `bytes` counts pages that are not resident too
};

// True if a word in front of each block has its size.
bool allocator_is_glibc();

// Queries the allocator. It takes the allocator's locks, one after the other, as a call of malloc does. So it
// is called only where the program may call malloc (rss/ledger_handshake.h). False: the allocator has no such
// function.
bool ask_allocator(KeptFree* out);

} // namespace memtrace::record
