// Purpose: the module `_memtrace`, by which the bootstrap reports to the recorder.
// Runs: on the program's thread, under the GIL, never inside malloc.
#pragma once

#include "preload/hooks/python/python_api.h"

namespace memtrace::hooks {

// Returns false, with Python's error set, if the module cannot be filled.
bool fill_module(Object* module, const char* mode);

} // namespace memtrace::hooks
