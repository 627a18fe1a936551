// Purpose: hooks of the mmap family. glibc's own mappings (arenas, thread stacks, large chunks) do not pass
// here.
// Runs: inside the program's mmap, and inside other allocators.
#include <errno.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <sys/mman.h>

#include "preload/allocator/allocator_stats.h"
#include "preload/allocator/pymalloc_arenas.h"
#include "preload/api/export.h"
#include "preload/blocks/recording.h"
#include "preload/hooks/symbols/real_functions.h"
#include "preload/os/libc/valgrind.h"
#include "preload/os/paths.h"
#include "preload/os/timestamp.h"
#include "preload/rss/ledger_handshake.h"
#include "preload/state/recorder_state.h"
#include "preload/state/thread.h"

#include "preload/os/gate/forbidden.h"

namespace memtrace::hooks {
namespace {

using format::Kind;
using format::Stamp;
using record::draw_stamp;
using record::HookedBlock;
using record::local;
using record::Recording;
using record::Unjudged;

constexpr std::uint64_t kPage = 4096;

std::uint64_t pages(std::size_t n) {
  return (n + kPage - 1) & ~(kPage - 1);
}
std::uint64_t word(const void* p) {
  return reinterpret_cast<std::uint64_t>(p);
}

// True if a foreign allocator makes the mapping. Then it is memory of that allocator's blocks, whichever
// function called it.
bool is_allocators(const void* caller) {
  return foreign_allocator && (local.inside != 0 || record::is_in_allocator(caller));
}
// True if the mapping is the program's. A thread inside the recorder maps for the recorder.
bool recorded_here(const void* caller) {
  return record::active() && local.inside == 0 && local.busy == 0 && !is_allocators(caller);
}

Kind kind_of(int flags, int fd) {
  if (flags & MAP_ANONYMOUS) return flags & MAP_SHARED ? Kind::shm : Kind::mmap_anon;
  const long file_system = record::os::file_system_of(fd);
  const bool memory = file_system == TMPFS_MAGIC || file_system == HUGETLBFS_MAGIC;
  return memory && (flags & MAP_SHARED) ? Kind::shm : Kind::mmap_file; // memfd and /dev/shm are tmpfs
}

HookedBlock range(std::uint64_t address, std::size_t n) {
  return {address, pages(n), 0, Kind::none, format::kRange};
}

void mapped(void* p, std::size_t n, int prot, int flags, int fd, Stamp before, const void* caller) {
  const Unjudged unjudged;
  const Recording here;
  if (!here) return;
  if (flags & MAP_FIXED) { // an earlier mapping there is gone; there may be none
    HookedBlock under = range(word(p), n);
    under.flags |= format::kReleased;
    here.died(under, before);
  }
  HookedBlock block = {word(p), pages(n), n, kind_of(flags, fd)};
  if (prot == PROT_NONE) block.flags = format::kNoAccess;
  if (record::is_arena_mapper(caller)) block.flags |= format::kArena;
  here.born(block);
}

// Records a failure for lack of memory or of mappings. Other errors are the caller's mistake.
[[gnu::cold]] void refused(std::size_t n, Kind kind, std::uint16_t flags, int map_flags) {
  const int code = errno;
  if (code != ENOMEM && code != EAGAIN) return;
  const Unjudged unjudged;
  const Recording here;
  if (here)
    here.failed({0, 0, n, kind, flags},
                {static_cast<std::uint32_t>(code), static_cast<std::uint32_t>(map_flags)});
}

void* map(void* at, std::size_t n, int prot, int flags, int fd, off_t offset, const void* caller) {
  if (!recorded_here(caller)) {
    void* const p = real.mmap(at, n, prot, flags, fd, offset);
    if (p == MAP_FAILED) return p;
    if (is_allocators(caller))
      record::allocator_mapped(p, n);
    else
      record::mapped_early(p, n, caller);
    return p;
  }
  const Stamp before = flags & MAP_FIXED ? draw_stamp() : 0;
  void* const p = real.mmap(at, n, prot, flags, fd, offset);
  if (p != MAP_FAILED) {
    mapped(p, n, prot, flags, fd, before, caller);
  } else {
    refused(n, kind_of(flags, fd), prot == PROT_NONE ? format::kNoAccess : std::uint16_t{0}, flags);
  }
  return p;
}

} // namespace
} // namespace memtrace::hooks

using namespace memtrace::hooks;
namespace format = memtrace::format;

EXPORT void* mmap(void* at, std::size_t n, int prot, int flags, int fd, off_t offset) noexcept {
  return map(at, n, prot, flags, fd, offset, __builtin_return_address(0));
}
EXPORT void* mmap64(void* at, std::size_t n, int prot, int flags, int fd, off_t offset) noexcept {
  return map(at, n, prot, flags, fd, offset, __builtin_return_address(0));
}

EXPORT int munmap(void* p, std::size_t n) noexcept {
  if (const void* const caller = __builtin_return_address(0); !recorded_here(caller)) {
    if (is_allocators(caller)) memtrace::record::before_purge(p, n);
    if (is_allocators(caller) || !memtrace::record::active()) memtrace::record::allocator_unmapped(p);
    return real.munmap(p, n);
  }
  memtrace::record::before_large_death(n);
  const Stamp death = draw_stamp();
  const int result = real.munmap(p, n);
  if (result != 0) return result;
  const Unjudged unjudged;
  if (const Recording here; here) here.died(range(word(p), n), death);
  return result;
}

EXPORT void* mremap(void* p, std::size_t before, std::size_t after, int flags, ...) noexcept {
  va_list list;
  va_start(list, flags);
  // glibc reads the argument with both flags; with MREMAP_DONTUNMAP alone it is a hint.
  void* const wanted = flags & (MREMAP_FIXED | MREMAP_DONTUNMAP) ? va_arg(list, void*) : nullptr;
  va_end(list);
  if (!recorded_here(__builtin_return_address(0))) return real.mremap(p, before, after, flags, wanted);
  const Stamp death = draw_stamp();
  void* const q = real.mremap(p, before, after, flags, wanted);
  if (q == MAP_FAILED) {
    refused(after, Kind::mmap_anon, 0, 0);
    return q;
  }
  const Unjudged unjudged;
  const Recording here;
  if (!here) return q;
  if (flags & MREMAP_FIXED) {
    HookedBlock under = range(word(q), after);
    under.flags |= format::kReleased;
    here.died(under, death);
  }
  const HookedBlock to = {word(q), pages(after), after, Kind::none, format::kRange};
  // A length of 0 duplicates a shared mapping, and MREMAP_DONTUNMAP leaves the old range mapped: no range dies
  // then.
  const bool keeps_old = before == 0 || (flags & MREMAP_DONTUNMAP) != 0;
  here.moved(word(p), keeps_old ? 0 : pages(before), to, death);
  return q;
}

EXPORT int mprotect(void* p, std::size_t n, int prot) noexcept {
  const int result = real.mprotect(p, n, prot);
  if (result != 0 || !recorded_here(__builtin_return_address(0))) return result;
  const Unjudged unjudged;
  const Recording here;
  if (here) here.mark(format::ProtectEvent{word(p), pages(n), static_cast<std::uint32_t>(prot), 0});
  return result;
}

EXPORT int madvise(void* p, std::size_t n, int advice) noexcept {
  // Only advice that gives pages back changes a figure.
  const bool gives_back =
      advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE || advice == 24;
  if (gives_back && is_allocators(__builtin_return_address(0))) memtrace::record::before_purge(p, n);
  const int result = real.madvise(p, n, advice);
  if (result != 0 || !gives_back || !recorded_here(__builtin_return_address(0))) return result;
  const Unjudged unjudged;
  const Recording here;
  if (here) here.mark(format::AdviseEvent{word(p), pages(n), static_cast<std::uint32_t>(advice), 0});
  return result;
}
