// Purpose: the functions we stand in front of, found once; and memory for the calls that come before that.
// Runs: inside the program's malloc.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace memtrace::hooks {

// Each is the next definition after ours (RTLD_NEXT, not __libc_malloc: a preloaded jemalloc still works). They
// start as functions that find the real ones first.
struct Real {
  void* (*malloc)(std::size_t);
  void (*free)(void*);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  int (*posix_memalign)(void**, std::size_t, std::size_t);
  void* (*aligned_alloc)(std::size_t, std::size_t);
  void* (*memalign)(std::size_t, std::size_t);
  void* (*valloc)(std::size_t);
  void* (*pvalloc)(std::size_t);
  std::size_t (*usable)(void*);
  void* (*mmap)(void*, std::size_t, int, int, int, off_t);
  int (*munmap)(void*, std::size_t);
  void* (*mremap)(void*, std::size_t, std::size_t, int, ...);
  int (*mprotect)(void*, std::size_t, int);
  int (*madvise)(void*, std::size_t, int);
  // The allocator is glibc's, and the word before a block is its size as glibc's own malloc_usable_size reads
  // it.
  bool sizes_in_headers;
};
[[gnu::visibility("hidden")]] extern constinit Real real; // hidden: no address from the GOT

// Finds them. Cheap when that was done; called by the constructor and by whatever comes first.
void find_real();

// Memory from the bootstrap arena: dlsym allocates before the real malloc is known. It is never given back, and
// when the arena is used up its blocks come from the kernel, so it cannot run out into an abort (heaptrack's 1
// KiB did).
bool is_bootstrap(const void* p);
std::size_t bootstrap_size(const void* p);

inline std::size_t header_of(const void* p) {
  return static_cast<const std::size_t*>(p)[-1];
}
inline constexpr std::size_t kHeaderMapped = 2; // a mapping of its own, of another size
inline std::size_t size_in(std::size_t header) {
  return (header & ~std::size_t{7}) - sizeof header;
}
inline std::size_t usable_size(void* p) {
  if (real.sizes_in_headers && (header_of(p) & kHeaderMapped) == 0) return size_in(header_of(p));
  return real.usable(p);
}

// True if valgrind's tool put its own functions in the place of malloc's, ours included: none of our hooks of
// them runs.
bool malloc_is_valgrinds();

// True when the allocator below is not glibc's: its mappings pass our hooks, and are its blocks' memory, not
// more.
extern constinit bool foreign_allocator;

} // namespace memtrace::hooks
