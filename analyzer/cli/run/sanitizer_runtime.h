// Purpose: which sanitizer's runtime a command's executable needs as a shared library.
#pragma once

#include <string>

namespace memtrace::cli {

// The library's name as the executable gives it, for LD_PRELOAD: the loader looks for it there as it does for
// the executable. Empty: it needs none. `command` is looked for in PATH as execvp does; of a script its
// interpreter.
std::string sanitizer_runtime(const std::string& command);

} // namespace memtrace::cli
