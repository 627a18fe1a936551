// Purpose: which dynamic loader starts a program: that of musl cannot load the preload object.
#pragma once

#include <string>

namespace memtrace::cli {

// The loader that the file of `program` names, found as execvp does, or the interpreter of a script: "" where
// there is none or it cannot be told.
std::string loader_of(const std::string& program);

// True if that is musl's.
bool is_musl(const std::string& loader);

} // namespace memtrace::cli
