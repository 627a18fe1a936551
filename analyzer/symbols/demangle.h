// Purpose: names of functions as their source has them.
#pragma once

#include <string>

namespace memtrace::symbols {

// Returns the name of a C++ function (mangled names begin with _Z) or a Rust function (_R, or _Z in older
// compilers) as source code has it, with its parameters in C++. Returns any other name unchanged.
std::string demangle(const char* name);

} // namespace memtrace::symbols
