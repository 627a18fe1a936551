// Room: record. Opened in the constructor, called inside the victim's malloc.
// Job: libunwind, opened and never linked (linked, it takes over C++ exceptions), and kept from everything that
// a hook may not do.
#pragma once

#include <cstddef>

namespace memtrace::record {

// Opens libunwind (beside this library, else the system's; RTLD_LOCAL) and warms it: the first use maps memory
// and takes half a millisecond. False: there is none, or glibc is older than 2.35, and stacks have Python
// frames alone. Constructor only.
bool open_unwinder();

// After a dlclose. Where a library that was walked through is gone, other code may come to lie there, and
// libunwind's fast walk, which keeps frame sizes by address for good, would read wild (a crash in our own
// test). From then on the slow walk is taken, 0.5 us a frame, whose cache can be emptied.
void code_was_unloaded();

// Return addresses of the calling thread, innermost first: how many. 37 ns a frame when warm. No lock of the
// loader's, no descriptor, no allocation but libunwind's own mappings.
std::size_t unwind(void** out, std::size_t capacity);

} // namespace memtrace::record
