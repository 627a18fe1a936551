// Purpose: finds the library that contains an address, without the loader's lock.
// Runs: inside the program's malloc, but only at first sight of an address.
#pragma once

#include <dlfcn.h>

#include "preload/format/records.h"

namespace memtrace::record {

struct LoadedModule {
  std::uint64_t start;
  std::uint64_t end;
  std::uint64_t bias;
  format::TextId path;
  std::uint8_t build_id_bytes;
  std::uint8_t build_id[20];
};

// Finds glibc's `_dl_find_object` (2.35; lock-free, async-signal-safe) by dlsym, because a direct reference
// would raise the required glibc version. Older versions have find_listed_object() instead. Constructor only.
void find_modules_by(const char* executable);
bool modules_can_be_found();
// Finds the loaded object that contains `address`, without a lock.
bool find_object(std::uint64_t address, dl_find_object* out);

// Returns the id of the module that contains `address`; 0 if there is none. `*added` is set if the module is
// new. `intern` makes text ids. The caller holds the definitions lock.
std::uint32_t find_module(std::uint64_t address, bool* added,
                          format::TextId (*intern)(const char* text, std::size_t bytes));
// Called after a dlclose. True if a library that was seen in a stack is gone, or another object is at its
// address.
bool some_module_is_gone();
const LoadedModule& module_at(std::uint32_t id);
std::uint32_t modules_end();

} // namespace memtrace::record
