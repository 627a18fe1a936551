// Purpose: the next definition of a name, as a typed pointer.
// Runs: outside hooks, or at the first call of a function that is no allocator.
#pragma once

#include <dlfcn.h>

#include <cstring>

#include "preload/os/libc/libc_table.h"

namespace memtrace::hooks {

// Leaves `*out` as it is when there is none.
template <class F>
void find_next(F* out, const char* name) {
  if (void* const p = dlsym(RTLD_NEXT, name); p != nullptr) {
    std::memcpy(out, &p, sizeof p);
  } else {
    record::libc.dlerror(); // nothing is left for the program to find
  }
}

// The program's own definition, which may come before ours. Leaves `*out` as it is when there is none.
template <class F>
void find_first(F* out, const char* name) {
  if (void* const p = dlsym(RTLD_DEFAULT, name); p != nullptr) {
    std::memcpy(out, &p, sizeof p);
  } else {
    record::libc.dlerror();
  }
}

// In a library that is loaded, maybe RTLD_LOCAL (RTLD_NEXT sees the global scope alone): the first of `sonames`
// that is, and has it. Null-terminated list.
template <class F>
bool find_in(F* out, const char* name, const char* const* sonames) {
  for (; *sonames != nullptr; ++sonames) {
    void* const library = record::libc.dlopen(*sonames, RTLD_LAZY | RTLD_NOLOAD);
    void* const p = library != nullptr ? dlsym(library, name) : nullptr;
    if (library != nullptr) dlclose(library); // its count only: it stays loaded
    if (p == nullptr) continue;
    std::memcpy(out, &p, sizeof p);
    return true;
  }
  record::libc.dlerror();
  return false;
}

} // namespace memtrace::hooks
