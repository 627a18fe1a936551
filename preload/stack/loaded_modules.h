// Purpose: which library an address is in, without the loader's lock.
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

// Takes glibc's `_dl_find_object` (2.35; lock-free, async-signal-safe) by dlsym: a direct reference would raise
// the glibc floor. Without it there are no native stacks. Constructor only.
void find_modules_by(const char* executable);
bool modules_can_be_found();
// The loaded object that holds `address`. No lock.
bool find_object(std::uint64_t address, dl_find_object* out);

// The id of the module that holds `address`, 0 if none; `*added` when it was not known. `intern` makes texts.
// Definitions lock held.
std::uint32_t find_module(std::uint64_t address, bool* added,
                          format::TextId (*intern)(const char* text, std::size_t bytes));
// After a dlclose: true if a library that was seen in a stack is not there any more, or another lies there.
bool some_module_is_gone();
const LoadedModule& module_at(std::uint32_t id);
std::uint32_t modules_end();

} // namespace memtrace::record
