// Purpose: hides each name that memtrace exports and no other library defines.
// Runs: in the constructor.
#pragma once

namespace memtrace::hooks {

// A program tests by dlsym and by weak references whether CUDA or free_sized exists, and behaves differently
// without them. hide_absent() removes such names from memtrace's symbol table, so that later lookups fail. It
// also clears the weak references that the loader bound to memtrace. CUDA counts as present if a driver or a
// runtime is found, or if the user sets MEMTRACE_CUPTI=on.
bool cuda_is_there();
void hide_absent(bool cuda);

} // namespace memtrace::hooks
