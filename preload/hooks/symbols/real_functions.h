// Purpose: the real functions behind memtrace's hooks, found once; and memory for the calls before that.
// Runs: inside the program's malloc.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace memtrace::hooks {

// Each member is the next definition after memtrace's (RTLD_NEXT, not __libc_malloc: a preloaded jemalloc still
// works). At first each points to a function that finds the real ones.
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
  // True if the allocator is glibc's, and the word before a block is the size that glibc's own
  // malloc_usable_size returns.
  bool sizes_in_headers;
  bool passes_through; // the process is not traced, and has no bootstrap blocks: hooks only make the real call
};
[[gnu::visibility("hidden")]] extern constinit Real real; // hidden: no address from the GOT

// Finds them; cheap if they are found already. The constructor calls it, or the first hook if that is earlier.
void find_real();

// Prepares the hooks for a traced process: finds how the allocator says its blocks' sizes, and how much it
// retains.
void learn_allocator();
// Makes the hooks of malloc as short as possible, because the process is not traced.
void pass_through();

// Blocks of the bootstrap arena: dlsym allocates before the real malloc is known. They are never freed. If the
// arena is full, blocks come from the kernel, so the arena cannot cause an abort (heaptrack's, of 1 KiB, did).
bool is_bootstrap(const void* p);
std::size_t bootstrap_size(const void* p);

inline std::size_t header_of(const void* p) {
  return static_cast<const std::size_t*>(p)[-1];
}
inline constexpr std::size_t kHeaderMapped = 2; // a separate mapping, with another size
inline std::size_t size_in(std::size_t header) {
  return (header & ~std::size_t{7}) - sizeof header;
}
inline std::size_t usable_size(void* p) {
  if (real.sizes_in_headers && (header_of(p) & kHeaderMapped) == 0) return size_in(header_of(p));
  return real.usable(p);
}

// True if valgrind's tool replaced the malloc functions, memtrace's included: then none of those hooks runs.
bool malloc_is_valgrinds();

// True if the next allocator is not glibc's. Its mappings pass memtrace's hooks; they are the memory of its
// blocks, so they are not counted again.
extern constinit bool foreign_allocator;

} // namespace memtrace::hooks
