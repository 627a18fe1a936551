// Purpose: where this library stands among the loaded objects, and what comes after it.
// Runs: in the constructor, or before it.
#pragma once

#include "preload/os/libc/elf_tables.h"

namespace memtrace::hooks {

using record::Dynamic;

// This library's own. Null: not in the program's list.
const link_map* own_object();
// The next definition of a function after ours, as RTLD_NEXT finds it, without dlsym. Null: there is none.
void* next_function(const char* name);

} // namespace memtrace::hooks
