// Purpose: the next definition of a name, as a typed pointer.
// Runs: outside hooks, or at the first call of a function that is not an allocator.
#pragma once

#include <dlfcn.h>

#include <cstring>

#include "preload/hooks/symbols/loaded_objects.h"
#include "preload/os/libc/libc_table.h"

namespace memtrace::hooks {

// Leaves `*out` unchanged if there is no definition. The loader's lookup takes its lock and 1,200 instructions,
// so it is only the second choice.
template <class F>
void find_next(F* out, const char* name) {
  void* p = next_plain_function(name);
  if (p == nullptr) p = dlsym(RTLD_NEXT, name);
  if (p != nullptr) {
    std::memcpy(out, &p, sizeof p);
  } else {
    record::libc.dlerror(); // clears the error, so that the program does not find it
  }
}

// Finds the program's own definition, which may come before memtrace's. Leaves `*out` unchanged if there is no
// definition.
template <class F>
void find_first(F* out, const char* name) {
  if (void* const p = dlsym(RTLD_DEFAULT, name); p != nullptr) {
    std::memcpy(out, &p, sizeof p);
  } else {
    record::libc.dlerror();
  }
}

// Finds `name` in the first loaded library of `sonames` that defines it. The library may have been opened
// RTLD_LOCAL; RTLD_NEXT searches only the global scope. `sonames` is a null-terminated list.
template <class F>
bool find_in(F* out, const char* name, const char* const* sonames) {
  for (; *sonames != nullptr; ++sonames) {
    void* const library = record::libc.dlopen(*sonames, RTLD_LAZY | RTLD_NOLOAD);
    void* const p = library != nullptr ? dlsym(library, name) : nullptr;
    if (library != nullptr) dlclose(library); // lowers its count: it stays loaded
    if (p == nullptr) continue;
    std::memcpy(out, &p, sizeof p);
    return true;
  }
  record::libc.dlerror();
  return false;
}

} // namespace memtrace::hooks
