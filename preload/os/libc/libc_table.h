// Purpose: the few functions of libc that a sanitizer's runtime stands before, taken from libc's own table.
// Runs: on any thread, also before any constructor.
#pragma once

#include <dlfcn.h>
#include <time.h>

namespace memtrace::record {

// A function of libc: until its first call one that looks for it. Two threads may look at once.
template <class Function>
struct Found {
  Function* function;
  Function* get() const { return __atomic_load_n(&function, __ATOMIC_RELAXED); }
  operator Function*() const { return get(); } // so that it is called like the function
};

// A program with a sanitizer defines these names itself. Its definition crashes until the runtime has begun,
// and our hooks run before that: `__asan_init` itself calls dlsym. So no reference to them is left to the
// loader.
struct Libc {
  Found<int(clockid_t, timespec*)> clock_gettime;
  Found<void*(const char*, int)> dlopen;
  Found<char*()> dlerror;
  Found<int(const void*, Dl_info*)> dladdr;
  Found<int(void (*)(int, void*), void*)> on_exit;
};
[[gnu::visibility("hidden")]] extern constinit Libc libc;

} // namespace memtrace::record
