// Purpose: the real dlsym and dlvsym.
// Runs: outside malloc: the loader's lock may be taken.
#include "preload/hooks/symbols/real_lookups.h"

#include <dlfcn.h>
#include <errno.h>

#include "preload/hooks/symbols/loaded_objects.h"

#include "preload/os/gate/forbidden.h"

extern "C" {
constinit memtrace::hooks::LookUp memtrace_real_dlsym = nullptr;
constinit memtrace::hooks::LookUpVersion memtrace_real_dlvsym = nullptr;
}

namespace memtrace::hooks {

void find_real_lookups() {
  if (memtrace_real_dlvsym != nullptr) return;
  const int errno_before = errno;
  memtrace_real_dlsym = reinterpret_cast<LookUp>(next_function("dlsym"));
  memtrace_real_dlvsym = reinterpret_cast<LookUpVersion>(next_function("dlvsym"));
  errno = errno_before;
}

void* look_up_without_loader(void* handle, const char* name) {
  if (handle == RTLD_NEXT) return next_function(name);
  return handle == RTLD_DEFAULT ? record::function_from(record::first_object(), name) : nullptr;
}

void* real_dlsym(void* handle, const char* name) {
  find_real_lookups();
  if (memtrace_real_dlsym == nullptr) return look_up_without_loader(handle, name);
  void* found = memtrace_real_dlsym(handle, name);
  asm volatile("" : "+r"(found)); // keeps it a call, not a jump: the caller is this library
  return found;
}

} // namespace memtrace::hooks
