// Purpose: captures the calling stack as one id: Python frames outside, native frames inside; and the module
// of a model that runs.
// Runs: inside the program's malloc.
#pragma once

#include "preload/record/captured_stack.h"

namespace memtrace::record {

// Makes room for known stacks, and opens the unwinder if native frames are wanted. Only the constructor calls
// it.
void prepare_stacks();

// Makes native frames end at the interpreter's code if there are Python frames, which say more than its own
// frames.
void hide_interpreter(const void* some_function_of_it);

// Returns the calling thread's stack: StackId{0} if there are no frames, TextId{0} if no module is known. With
// `native`, it includes native frames: 40 of them take 1.5 us warm. Python frames alone take 0.2 us. The caller
// holds the guard.
CapturedStack capture_stack(bool native);

// Returns the most bytes that the cache of known stacks has touched.
std::uint64_t stack_cache_bytes();
// Frees the pages of the cache. Stacks that are still in use are interned again. Any thread may call it.
void drop_stack_cache();

} // namespace memtrace::record
