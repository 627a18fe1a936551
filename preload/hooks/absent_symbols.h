// Purpose: hides each name that memtrace exports and no other library defines.
// Runs: in the constructor, and when the recorder starts.
#pragma once

namespace memtrace::hooks {

// A program tests by dlsym and by weak references whether CUDA or free_sized exists, and behaves differently
// without them. hide_absent() removes such names from memtrace's symbol table, so that later lookups fail. It
// also clears the weak references that the loader bound to memtrace. CUDA counts as present if a driver or a
// runtime is found, or if the user sets MEMTRACE_CUPTI=on.
bool cuda_is_there();
void hide_absent(bool cuda);

// True if a loaded object has a weak reference to a name that hide_absent() may hide. The object may test it at
// any time.
bool has_weak_references_to_absent();
// True if CUDA's driver or runtime is loaded.
bool cuda_is_loaded();

} // namespace memtrace::hooks
