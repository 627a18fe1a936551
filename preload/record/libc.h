// Room: record. Any thread, also before any constructor.
// Job: the few functions of libc that a sanitizer's runtime stands before, taken from libc's own table.
#pragma once

#include <dlfcn.h>
#include <time.h>

namespace memtrace::record {

// A program with a sanitizer defines these names itself. Its definition crashes until the runtime has begun,
// and our hooks run before that: `__asan_init` itself calls dlsym. So no reference to them is left to the
// loader.
struct Libc {
  int (*clock_gettime)(clockid_t, timespec*);
  void* (*dlopen)(const char*, int);
  char* (*dlerror)();
  int (*dladdr)(const void*, Dl_info*);
  int (*on_exit)(void (*)(int, void*), void*);
};
// Each looks for the real one when it is first called.
[[gnu::visibility("hidden")]] extern constinit Libc libc;

} // namespace memtrace::record
