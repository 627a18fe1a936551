// Purpose: the module `_memtrace`, by which the bootstrap tells the recorder what it sees.
// Runs: on the program's thread, under the GIL, never inside malloc.
#pragma once

#include "preload/hooks/python/python_api.h"

namespace memtrace::hooks {

// False: with Python's error set.
bool fill_module(Object* module, const char* mode);

} // namespace memtrace::hooks
