// Purpose: the calls of the loader, by the version of their names that every glibc has.
// glibc 2.34 moved them from libdl to libc under a new version, which older systems lack. The library is linked
// with libdl, so that these have a libdl to find them in.
#pragma once

#include <dlfcn.h>

#if !defined(__x86_64__)
#error "the oldest version of these names differs between machines"
#endif

namespace memtrace::cupti {

asm(".symver dlopen, dlopen@GLIBC_2.2.5");
asm(".symver dlsym, dlsym@GLIBC_2.2.5");
asm(".symver dladdr, dladdr@GLIBC_2.2.5");
asm(".symver dlerror, dlerror@GLIBC_2.2.5");

} // namespace memtrace::cupti
