// Purpose: finds the dynamic loader of a program. musl's loader cannot load the preload object.
#pragma once

#include <string>

namespace memtrace::cli {

// Returns the loader that the file of `program` names, or that of a script's interpreter. Searches as execvp
// does. Returns "" if the file names no loader or cannot be read.
std::string loader_of(const std::string& program);

// True if `loader` is the loader of musl.
bool is_musl(const std::string& loader);

} // namespace memtrace::cli
