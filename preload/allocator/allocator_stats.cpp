// Purpose: free memory that the program's allocator has not returned to the kernel.
// Runs: in the constructor, and on the program's threads.
#include "preload/allocator/allocator_stats.h"

#include <dlfcn.h>
#include <malloc.h>

#include <cstring>
#include <iterator>

#include "preload/os/libc/elf_tables.h"
#include "preload/os/libc/libc_table.h"
#include "preload/stack/loaded_modules.h"

namespace memtrace::record {
namespace {

using Mallinfo = struct mallinfo2 (*)();
using OldMallinfo = struct mallinfo (*)();
using Mallctl = int (*)(const char*, void*, std::size_t*, void*, std::size_t);

constinit bool glibcs = false;
constinit Mallinfo mallinfo_of_glibc = nullptr;
constinit OldMallinfo old_mallinfo_of_glibc = nullptr; // before 2.33; counts modulo 4 GiB
constinit Mallctl mallctl = nullptr;
constinit const void* others_malloc = nullptr;
constinit std::uint64_t library_start = 0;
constinit std::uint64_t library_bytes = 0;
constinit AllocatorRanges ranges{};

struct Early {
  const void* address;
  std::size_t bytes;
  const void* return_address;
};
constinit Early early[64] = {};
constinit std::size_t earlies = 0; // also counts those that did not fit
constinit bool library_is_found = false;

template <class F>
void look_up(F* out, const char* name) {
  void* p = plain_function_from(first_object(), name);
  if (p == nullptr) p = dlsym(RTLD_DEFAULT, name);
  if (p != nullptr) {
    std::memcpy(out, &p, sizeof p);
  } else {
    libc.dlerror(); // clears the error, so that the program does not find it
  }
}

bool same_library(const void* a, const void* b) {
  Dl_info one{}, other{};
  return libc.dladdr(a, &one) != 0 && libc.dladdr(b, &other) != 0 && one.dli_fbase == other.dli_fbase;
}

bool figure(const char* name, std::size_t* out) {
  std::size_t bytes = sizeof *out;
  return mallctl(name, out, &bytes, nullptr, 0) == 0;
}

bool ask_jemalloc(KeptFree* out) {
  std::uint64_t epoch = 1; // jemalloc updates its figures when this is written
  std::size_t bytes = sizeof epoch, allocated = 0, resident = 0;
  if (mallctl("epoch", &epoch, &bytes, &epoch, sizeof epoch) != 0) return false;
  if (!figure("stats.allocated", &allocated) || !figure("stats.resident", &resident)) return false;
  // stats.allocated includes free blocks in thread caches. tcache_bytes exists since 5.1; 4096 means all
  // arenas.
  std::size_t cached = 0;
  if (!figure("stats.arenas.4096.tcache_bytes", &cached) || cached > allocated) cached = 0;
  allocated -= cached;
  *out = {resident > allocated ? resident - allocated : 0, allocated, false};
  return true;
}

} // namespace

void find_allocator(bool glibc, const void* malloc_function) {
  glibcs = glibc;
  if (glibc) {
    look_up(&mallinfo_of_glibc, "mallinfo2");
    if (mallinfo_of_glibc == nullptr) look_up(&old_mallinfo_of_glibc, "mallinfo");
    return;
  }
  others_malloc = malloc_function;
  look_up(&mallctl, "mallctl");
  void* asked = nullptr;
  std::memcpy(&asked, &mallctl, sizeof asked);
  if (asked != nullptr && !same_library(asked, malloc_function)) mallctl = nullptr;
}

void find_allocator_library() {
  library_is_found = true;
  dl_find_object object{};
  if (others_malloc == nullptr || !find_object(reinterpret_cast<std::uint64_t>(others_malloc), &object)) return;
  library_start = reinterpret_cast<std::uint64_t>(object.dlfo_map_start);
  library_bytes = reinterpret_cast<std::uint64_t>(object.dlfo_map_end) - library_start;
  for (const Early& one : early)
    if (one.address != nullptr && is_in_allocator(one.return_address)) allocator_mapped(one.address, one.bytes);
}

void mapped_early(const void* address, std::size_t bytes, const void* return_address) {
  if (library_is_found) return;
  const std::size_t i = __atomic_fetch_add(&earlies, 1, __ATOMIC_RELAXED);
  if (i < std::size(early)) early[i] = {address, bytes, return_address};
}

bool is_in_allocator(const void* return_address) {
  return reinterpret_cast<std::uint64_t>(return_address) - library_start < library_bytes;
}

void allocator_mapped(const void* address, std::size_t bytes) {
  ranges.note(reinterpret_cast<std::uint64_t>(address), bytes);
}
void allocator_unmapped(const void* address) {
  if (!library_is_found) {
    for (Early& one : early)
      if (one.address == address) one = {};
  }
  ranges.forget(reinterpret_cast<std::uint64_t>(address));
}
const AllocatorRanges& allocator_ranges() {
  return ranges;
}

bool allocator_is_glibc() {
  return glibcs;
}

bool ask_allocator(KeptFree* out) {
  if (mallctl != nullptr) return ask_jemalloc(out);
  if (mallinfo_of_glibc != nullptr) {
    *out = {mallinfo_of_glibc().fordblks, 0, true};
    return true;
  }
  if (old_mallinfo_of_glibc == nullptr) return false;
  *out = {static_cast<std::uint32_t>(old_mallinfo_of_glibc().fordblks), 0, true};
  return true;
}

} // namespace memtrace::record
