// Purpose: converts names of functions to the form of their source.
#pragma once

#include <string>

namespace memtrace::symbols {

// Returns the name of a C++ or Rust function as source code has it, in C++ with its parameters. Mangled names
// begin with _Z (C++, older Rust compilers) or _R (Rust). Returns any other name unchanged.
std::string demangle(const char* name);

} // namespace memtrace::symbols
