// Purpose: who is asking: Python frames above native ones, as one id.
// Runs: inside the program's malloc.
#pragma once

#include "preload/format/records.h"

namespace memtrace::record {

// Constructor only: room for stacks seen, and the unwinder if native frames are wanted.
void prepare_stacks();

// Frames of the interpreter itself say nothing where Python frames do: native frames end at its code.
void hide_interpreter(const void* some_function_of_it);

// The calling thread's stack, interned. `native`: with native frames, 1.5 us warm for 40 of them; Python frames
// alone take 0.2 us. StackId{0} when there is nothing to see. Guard held.
format::StackId capture_stack(bool native);

// At most what the cache of stacks seen has touched.
std::uint64_t stack_cache_bytes();
// Gives its pages back: the stacks that are still in use are found anew. On any thread.
void drop_stack_cache();

} // namespace memtrace::record
