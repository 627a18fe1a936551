// Purpose: the functions of libc that a sanitizer's runtime replaces, found in libc's own symbol table.
// Runs: on any thread, also before any constructor.
#pragma once

#include <dlfcn.h>
#include <link.h>
#include <time.h>

namespace memtrace::record {

// A function of libc. Until its first call, `function` is a function that finds the real one. Two threads may
// search at the same time.
template <class Function>
struct Found {
  Function* function;
  Function* get() const { return __atomic_load_n(&function, __ATOMIC_RELAXED); }
  operator Function*() const { return get(); } // so that a Found is called like the function
};

// A program with a sanitizer defines these names itself. Its definitions crash until the sanitizer's runtime
// has started. memtrace's hooks run before that: `__asan_init` itself calls dlsym. So the loader must not
// resolve these names for memtrace.
struct Libc {
  Found<int(clockid_t, timespec*)> clock_gettime;
  Found<void*(const char*, int)> dlopen;
  Found<char*()> dlerror;
  Found<int(const void*, Dl_info*)> dladdr;
  Found<int(void (*)(int, void*), void*)> on_exit;
};
[[gnu::visibility("hidden")]] extern constinit Libc libc;

// Returns libc's entry in the list of loaded objects; null if there is none.
const link_map* libc_object();

} // namespace memtrace::record
