// Room: record. Runs inside the victim's malloc.
// Job: who is asking: Python frames above native ones, as one id.
#pragma once

#include "format/event.h"

namespace memtrace::record {

// Opens libunwind (beside this library, else the system's; RTLD_LOCAL, never linked: linked, it takes over C++
// exceptions) and warms it. Constructor only. Without it stacks have Python frames alone.
void open_unwinder();

// Frames of the interpreter itself say nothing where Python frames do: native frames end at its code.
void hide_interpreter(const void* some_function_of_it);

// The calling thread's stack, interned. `native`: with native frames, 1.5 us warm for 40 of them; Python frames alone
// take 0.2 us. StackId{0} when there is nothing to see. Guard held.
format::StackId capture_stack(bool native);

// No unwind runs while held, for a child forked in the middle of one would find the loader's lock taken (a cold
// unwind walks the modules: 5 of 6 children hung). Bounded; false: one still runs.
bool hold_unwinds();
void release_unwinds();
// In a forked child: whoever was unwinding is not here.
void forget_unwinds();

} // namespace memtrace::record
