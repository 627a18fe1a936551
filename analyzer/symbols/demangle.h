// Purpose: converts names of functions to the form of their source.
#pragma once

#include <string>
#include <string_view>

namespace memtrace::symbols {

// Returns the name of a C++ or Rust function as source code has it, in C++ with its parameters. Mangled names
// begin with _Z (C++, older Rust compilers) or _R (Rust). Returns any other name unchanged.
std::string demangle(const char* name);

// Returns "a::(anonymous namespace)::fill" for "a::(anonymous namespace)::fill(int)". Valid as long as
// `function`.
std::string_view without_parameters(std::string_view function);

} // namespace memtrace::symbols
