// Room: record. Found by the constructor; asked on the program's threads.
// Job: what the program's allocator keeps of what it was given back.
#pragma once

#include <cstdint>

namespace memtrace::record {

// Whose `malloc` the program's calls reach: glibc's, or another. Only at load: it looks for names.
void find_allocator(bool glibc, const void* malloc_function);

struct KeptFree {
  std::uint64_t bytes = 0; // free, and not given back to the kernel
  bool by_chunks = false;  // whether in memory or not
};

// Each of its blocks has a word in front.
bool allocator_is_glibc();

// Takes the allocator's own locks, one after the other, as a call of malloc takes one: only where the program
// may call that (ledger_moment.h). False: it has no call that tells.
bool ask_allocator(KeptFree* out);

} // namespace memtrace::record
