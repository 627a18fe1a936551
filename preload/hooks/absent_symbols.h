// Purpose: names that we export and nothing below us has look missing, as they are without us.
// Runs: in the constructor.
#pragma once

namespace memtrace::hooks {

// Programs ask by dlsym and by weak references whether CUDA is there, or free_sized, and take another road when
// it is not. Takes such names out of our own symbol table, so that no later look-up finds them, and clears the
// weak references that the loader had bound to us. CUDA counts as there when a driver or a runtime is found, or
// when the user says so (MEMTRACE_CUPTI=on).
bool cuda_is_there();
void hide_absent(bool cuda);

} // namespace memtrace::hooks
