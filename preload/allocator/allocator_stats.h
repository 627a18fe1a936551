// Purpose: what the program's allocator keeps of what it was given back.
// Runs: in the constructor, and on the program's threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/os/address_ranges.h"

namespace memtrace::record {

// Whose `malloc` the program's calls reach: glibc's, or another. Only at load: it looks for names.
void find_allocator(bool glibc, const void* malloc_function);

// Another allocator's mappings are its blocks' memory, also those that it makes outside of `malloc`: jemalloc
// has `operator new` of its own, which comes to no hook. `return_address`: of who called `mmap`. Never true for
// glibc, whose own do not pass the hooks.
void find_allocator_library(); // once, when modules can be found
bool is_in_allocator(const void* return_address);
void allocator_mapped(const void* address, std::size_t bytes);
// Before the libraries are known: jemalloc maps 3 MiB of tables in the first malloc, before our constructor.
void mapped_early(const void* address, std::size_t bytes, const void* return_address);
void allocator_unmapped(const void* address);
// What it gave back in parts is in them still; nothing is mapped there, or something else. Empty for glibc.
using AllocatorRanges = NotedRanges<256>; // jemalloc's grow by a quarter each
const AllocatorRanges& allocator_ranges();

struct KeptFree {
  std::uint64_t bytes = 0; // free, and not given back to the kernel; at most, some was never touched
  std::uint64_t in_use =
      0;                  // usable bytes of all blocks that are alive, however they were asked for; 0: not said
  bool by_chunks = false; // `bytes` whether in memory or not
};

// Each of its blocks has a word in front.
bool allocator_is_glibc();

// Takes the allocator's own locks, one after the other, as a call of malloc takes one: only where the program
// may call that (rss/ledger_handshake.h). False: it has no call that tells.
bool ask_allocator(KeptFree* out);

} // namespace memtrace::record
