// Purpose: the real functions behind memtrace's hooks, found once; and memory for the calls before that.
// Runs: inside the program's malloc.
#include "preload/hooks/symbols/real_functions.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "preload/allocator/allocator_stats.h"
#include "preload/hooks/symbols/find_symbol.h"
#include "preload/os/gate/raw_call.h"
#include "preload/os/gate/start_page.h"
#include "preload/os/libc/elf_tables.h"
#include "preload/os/libc/libc_table.h"
#include "preload/os/libc/valgrind.h"
#include "preload/os/mappings.h"
#include "preload/record/sampled_address_filter.h"

#include "preload/os/gate/forbidden.h"

namespace memtrace::hooks {

ON_START_PAGE constinit bool foreign_allocator = false;

namespace {

namespace os = record::os;

constexpr std::size_t kArenaBytes = 256 * 1024;
constexpr std::size_t kHeader = 16;

alignas(16) constinit char arena[kArenaBytes] = {};
ON_START_PAGE constinit std::size_t arena_used = 0;
ON_START_PAGE constinit bool finding = false;
ON_START_PAGE constinit bool found = false;

// The range of all blocks that did not fit into the arena; each of them is a separate mapping. The size of a
// block is stored in front of it.
constinit std::uintptr_t overflow_low = ~std::uintptr_t{0};
constinit std::uintptr_t overflow_high = 0;

void* bootstrap_take(std::size_t align, std::size_t bytes) {
  if (align < 16) align = 16;
  if (bytes > ~std::size_t{0} / 2 - align) {
    errno = ENOMEM;
    return nullptr;
  }
  const std::size_t need = kHeader + align + ((bytes + 15) & ~std::size_t{15});
  const std::size_t at = __atomic_fetch_add(&arena_used, need, __ATOMIC_RELAXED);
  char* start = arena + at;
  if (at + need > kArenaBytes) {
    start = static_cast<char*>(os::map_private(need));
    if (start == nullptr) {
      errno = ENOMEM;
      return nullptr;
    }
    const auto low = reinterpret_cast<std::uintptr_t>(start);
    if (low < overflow_low) overflow_low = low;
    if (low + need > overflow_high) overflow_high = low + need;
  }
  const auto aligned = (reinterpret_cast<std::uintptr_t>(start) + kHeader + align - 1) & ~(align - 1);
  auto* const block = reinterpret_cast<char*>(aligned);
  std::memcpy(block - kHeader, &bytes, sizeof bytes);
  record::filter_pin(aligned); // so that a free of it reaches is_bootstrap()
  return block;                // fresh memory is zero
}

// `real` points to these until the search is over. While the search runs, and only then, memory comes from the
// arena.
void* early_malloc(std::size_t n) {
  find_real();
  return real.malloc == early_malloc ? bootstrap_take(16, n) : real.malloc(n);
}
void early_free(void* p) {
  find_real();
  if (real.free != early_free) real.free(p);
}
void* early_calloc(std::size_t n, std::size_t size) {
  find_real();
  if (real.calloc != early_calloc) return real.calloc(n, size);
  std::size_t bytes;
  if (__builtin_mul_overflow(n, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return bootstrap_take(16, bytes);
}
void* early_realloc(void* p, std::size_t n) {
  find_real();
  if (real.realloc != early_realloc) return real.realloc(p, n);
  void* const q = bootstrap_take(16, n);
  if (q != nullptr && p != nullptr) std::memcpy(q, p, bootstrap_size(p) < n ? bootstrap_size(p) : n);
  return q;
}
int early_posix_memalign(void** out, std::size_t align, std::size_t n) {
  find_real();
  if (real.posix_memalign != early_posix_memalign) return real.posix_memalign(out, align, n);
  void* const p = bootstrap_take(align, n);
  if (p == nullptr) return ENOMEM;
  *out = p;
  return 0;
}
void* early_aligned_alloc(std::size_t align, std::size_t n) {
  find_real();
  return real.aligned_alloc == early_aligned_alloc ? bootstrap_take(align, n) : real.aligned_alloc(align, n);
}
void* early_memalign(std::size_t align, std::size_t n) {
  find_real();
  return real.memalign == early_memalign ? bootstrap_take(align, n) : real.memalign(align, n);
}
void* early_valloc(std::size_t n) {
  find_real();
  return real.valloc == early_valloc ? bootstrap_take(4096, n) : real.valloc(n);
}
void* early_pvalloc(std::size_t n) {
  find_real();
  return real.pvalloc == early_pvalloc ? bootstrap_take(4096, (n + 4095) & ~std::size_t{4095})
                                       : real.pvalloc(n);
}
std::size_t early_usable(void*) {
  return 0;
}

// A signal handler may map memory while it interrupts the search. Then the kernel is called directly.
long as_libc(long result) {
  if (result >= 0 || result < -4095) return result;
  errno = static_cast<int>(-result);
  return -1;
}
void* early_mmap(void* at, std::size_t n, int prot, int flags, int fd, off_t offset) {
  find_real();
  if (real.mmap != early_mmap) return real.mmap(at, n, prot, flags, fd, offset);
  const long result = os::call(SYS_mmap, os::word(at), static_cast<long>(n), prot, flags, fd, offset);
  return reinterpret_cast<void*>(as_libc(result));
}
int early_munmap(void* at, std::size_t n) {
  find_real();
  if (real.munmap != early_munmap) return real.munmap(at, n);
  return static_cast<int>(as_libc(os::call(SYS_munmap, os::word(at), static_cast<long>(n))));
}
void* early_mremap(void* at, std::size_t before, std::size_t after, int flags, ...) {
  va_list list;
  va_start(list, flags);
  void* const wanted = flags & (MREMAP_FIXED | MREMAP_DONTUNMAP) ? va_arg(list, void*) : nullptr;
  va_end(list);
  find_real();
  if (real.mremap != early_mremap) return real.mremap(at, before, after, flags, wanted);
  const long result = os::call(SYS_mremap, os::word(at), static_cast<long>(before), static_cast<long>(after),
                               flags, os::word(wanted));
  return reinterpret_cast<void*>(as_libc(result));
}
int early_mprotect(void* at, std::size_t n, int prot) {
  find_real();
  if (real.mprotect != early_mprotect) return real.mprotect(at, n, prot);
  return static_cast<int>(as_libc(os::call(SYS_mprotect, os::word(at), static_cast<long>(n), prot)));
}
int early_madvise(void* at, std::size_t n, int advice) {
  find_real();
  if (real.madvise != early_madvise) return real.madvise(at, n, advice);
  return static_cast<int>(as_libc(os::call(SYS_madvise, os::word(at), static_cast<long>(n), advice)));
}

// The members of Real that are functions, in their order.
constexpr char kFunctions[][24] = {"malloc",        "free",     "calloc", "realloc",  "posix_memalign",
                                   "aligned_alloc", "memalign", "valloc", "pvalloc",  "malloc_usable_size",
                                   "mmap",          "munmap",   "mremap", "mprotect", "madvise"};
constexpr std::size_t kCount = sizeof kFunctions / sizeof *kFunctions;
static_assert(offsetof(Real, sizes_in_headers) == kCount * sizeof(void*));

void find_functions(Real* out) {
  void* addresses[kCount] = {};
  if (const link_map* const self = own_object(); self != nullptr)
    record::plain_functions_from(self->l_next, *kFunctions, sizeof *kFunctions, kCount, addresses);
  for (std::size_t i = 0; i < kCount; ++i) {
    char* const member = reinterpret_cast<char*>(out) + i * sizeof(void*);
    if (addresses[i] != nullptr) {
      std::memcpy(member, &addresses[i], sizeof(void*));
    } else {
      find_next(reinterpret_cast<void**>(member), kFunctions[i]);
    }
  }
}

// Not by dladdr, which reads all symbols of the object: 90,000 instructions for libc.
const link_map* object_of(const void* function) {
  std::uintptr_t start = 0;
  return record::object_at(function, &start);
}

// Tests one block of each kind that glibc manages differently. Mapped blocks are left out, because freeing one
// changes the size from which glibc maps the next.
bool headers_agree(const Real& next) {
  static constexpr std::size_t sizes[] = {1, 24, 25, 1000, 1033, 5000};
  bool agree = next.usable != early_usable;
  for (const std::size_t n : sizes) {
    void* const p = next.malloc(n);
    if (p == nullptr) return false;
    const std::size_t header = header_of(p);
    agree = agree && ((header & kHeaderMapped) != 0 || size_in(header) == next.usable(p));
    next.free(p);
  }
  return agree;
}

} // namespace

alignas(64) constinit Real real = {early_malloc,
                                   early_free,
                                   early_calloc,
                                   early_realloc,
                                   early_posix_memalign,
                                   early_aligned_alloc,
                                   early_memalign,
                                   early_valloc,
                                   early_pvalloc,
                                   early_usable,
                                   early_mmap,
                                   early_munmap,
                                   early_mremap,
                                   early_mprotect,
                                   early_madvise,
                                   false,
                                   false};

bool is_bootstrap(const void* p) {
  const auto at = reinterpret_cast<std::uintptr_t>(p);
  const auto low = reinterpret_cast<std::uintptr_t>(arena);
  return at - low < kArenaBytes || (at >= overflow_low && at < overflow_high);
}

std::size_t bootstrap_size(const void* p) {
  std::size_t bytes;
  std::memcpy(&bytes, static_cast<const char*>(p) - kHeader, sizeof bytes);
  return bytes;
}

// The blocks of valgrind's tool do not have glibc's headers.
bool malloc_is_valgrinds() {
  return record::under_valgrind && !foreign_allocator && !real.sizes_in_headers;
}

void learn_allocator() {
  find_real();
  record::find_valgrind();
  const record::Unjudged unjudged; // the words in front of blocks are read
  record::filter_pin(0);           // so that free(nullptr) takes the slow path as well
  real.sizes_in_headers = !foreign_allocator && headers_agree(real);
  if (real.sizes_in_headers) record::tool_leaves_malloc();
  record::find_allocator(!foreign_allocator, reinterpret_cast<const void*>(real.malloc));
}

void pass_through() {
  find_real();
  if (arena_used != 0) return; // a free must know the blocks of the arena
  real.passes_through = true;
  real.sizes_in_headers = false;
}

void find_real() {
  if (__atomic_load_n(&found, __ATOMIC_ACQUIRE) || __atomic_exchange_n(&finding, true, __ATOMIC_ACQ_REL))
    return;
  const int errno_before = errno;
  Real next = real;
  find_functions(&next);
  const link_map* const here = object_of(reinterpret_cast<void*>(next.malloc));
  const link_map* const libc = record::libc_object();
  foreign_allocator = here != nullptr && libc != nullptr && here != libc;
  // Only the allocator that made a block can return its size. If that allocator has no such function, blocks
  // count as 0 bytes.
  const link_map* const sizes = object_of(reinterpret_cast<void*>(next.usable));
  if (sizes == nullptr || sizes != here) next.usable = early_usable;
  real = next;
  errno = errno_before;
  __atomic_store_n(&found, true, __ATOMIC_RELEASE);
}

} // namespace memtrace::hooks
