// Purpose: finds the sanitizer runtime that an executable needs as a shared library.
#pragma once

#include <string>

namespace memtrace::cli {

// Returns the library's name as the executable gives it, or "" if it needs none. In LD_PRELOAD the loader
// searches for this name as it does for the executable. `command` is searched in PATH as execvp does; for a
// script its interpreter counts.
std::string sanitizer_runtime(const std::string& command);

} // namespace memtrace::cli
