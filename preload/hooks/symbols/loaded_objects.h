// Purpose: this library's place in the list of loaded objects, and the definitions after it.
// Runs: in the constructor, or before it.
#pragma once

#include "preload/os/libc/elf_tables.h"

namespace memtrace::hooks {

using record::Dynamic;

// Returns this library's entry; null if it is not in the program's list.
const link_map* own_object();
// Returns the next definition of a function after memtrace's, as RTLD_NEXT does, but without dlsym. Null: there
// is none.
void* next_function(const char* name);
// Returns what RTLD_NEXT finds for memtrace, or null if only the loader can tell.
void* next_plain_function(const char* name);

} // namespace memtrace::hooks
