// Purpose: tells whether a collection of Python's garbage runs while a thread of Python frees a block.
// Runs: inside the program's free; python_find_collector() under the GIL.
#pragma once

#include <cstddef>

namespace memtrace::record {

struct CollectorSymbols {
  const void* interpreter;      // PyInterpreterState_Get() of the main interpreter
  void* (*this_thread_state)(); // PyGILState_GetThisThreadState
  const char* version;          // Py_GetVersion()
};

// Finds the flag of the interpreter that is set during a collection. `garbage` and `callbacks`: the lists of
// the module `gc`, which lie beside the flag. False if they do not: then no block counts as freed by the
// collector. Call it under the GIL, outside a collection, once.
bool python_find_collector(const CollectorSymbols& symbols, const void* garbage, const void* callbacks);
// Ends this at the exit of Python, because the interpreter's state is freed later.
void python_forget_collector();

// True if the flag is set, and the calling thread is one of Python's. It may not have the GIL: PyTorch releases
// it to free a tensor, also in a collection. So if another of Python's threads frees a block without the GIL in
// that time, this block counts as freed by the collector, too. Without a collection a call costs two loads.
bool python_collects();

} // namespace memtrace::record
