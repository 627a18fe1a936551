// Room: record. Found by the constructor; asked on the program's threads.
// Job: what the program's allocator keeps of what it was given back.
#include "record/allocator.h"

#include <dlfcn.h>
#include <malloc.h>

#include <cstring>

namespace memtrace::record {
namespace {

using Mallinfo = struct mallinfo2 (*)();
using Mallctl = int (*)(const char*, void*, std::size_t*, void*, std::size_t);

constinit bool glibcs = false;
constinit Mallinfo mallinfo_of_glibc = nullptr;
constinit Mallctl mallctl = nullptr;

template <class F>
void look_up(F* out, const char* name) {
  if (void* const p = dlsym(RTLD_DEFAULT, name); p != nullptr) {
    std::memcpy(out, &p, sizeof p);
  } else {
    dlerror(); // nothing is left for the program to find
  }
}

bool same_library(const void* a, const void* b) {
  Dl_info one{}, other{};
  return dladdr(a, &one) != 0 && dladdr(b, &other) != 0 && one.dli_fbase == other.dli_fbase;
}

bool figure(const char* name, std::size_t* out) {
  std::size_t bytes = sizeof *out;
  return mallctl(name, out, &bytes, nullptr, 0) == 0;
}

bool ask_jemalloc(KeptFree* out) {
  std::uint64_t epoch = 1; // its figures are those of the last time that this was written
  std::size_t bytes = sizeof epoch, allocated = 0, resident = 0;
  if (mallctl("epoch", &epoch, &bytes, &epoch, sizeof epoch) != 0) return false;
  if (!figure("stats.allocated", &allocated) || !figure("stats.resident", &resident)) return false;
  *out = {resident > allocated ? resident - allocated : 0};
  return true;
}

} // namespace

void find_allocator(bool glibc, const void* malloc_function) {
  glibcs = glibc;
  if (glibc) {
    look_up(&mallinfo_of_glibc, "mallinfo2");
    return;
  }
  look_up(&mallctl, "mallctl");
  void* asked = nullptr;
  std::memcpy(&asked, &mallctl, sizeof asked);
  if (asked != nullptr && !same_library(asked, malloc_function)) mallctl = nullptr;
}

bool allocator_is_glibc() {
  return glibcs;
}

bool ask_allocator(KeptFree* out) {
  if (mallctl != nullptr) return ask_jemalloc(out);
  if (mallinfo_of_glibc == nullptr) return false;
  *out = {mallinfo_of_glibc().fordblks, true};
  return true;
}

} // namespace memtrace::record
