// Room: hooks. Runs on the victim's thread, under the GIL, never inside malloc.
// Job: the module `_memtrace`, by which the bootstrap tells the recorder what it sees.
#pragma once

#include "preload/hooks/python_api.h"

namespace memtrace::hooks {

// False: with Python's error set.
bool fill_module(Object* module, const char* mode);

} // namespace memtrace::hooks
