// Purpose: the module of a model that a block belongs to: paths of modules, by the addresses of their objects.
// Runs: the table is written under the GIL, outside malloc, and read inside the program's malloc.
//
// The bootstrap walks the models that the program calls, and gives each module its path
// (python/module_paths.py). The walk of Python frames finds the module that runs: it is an argument of the
// wrapper of Module.__call__. So no module needs a hook (docs/decisions/0061).
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/format/records.h"
#include "preload/stack/python_frames.h"

namespace memtrace::record {

// Reserves the memory. Only the constructor calls it. Without memory, no module is known.
void prepare_modules();

// Forgets all modules. A walk of the models names them anew, because an object may have died, and another may
// have its address.
void forget_modules();
// Sets the path of the module at `self`. If the table is full, the module has none.
void name_module(const void* self, format::TextId path);

// Returns the path of the innermost of these modules that has one; TextId{0} if none has.
format::TextId module_of(const ModuleCalls& calls);

// Returns the most bytes that the table has touched.
std::uint64_t module_bytes();

} // namespace memtrace::record
