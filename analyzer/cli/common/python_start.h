// Purpose: prepares this process for a Python program that uses the package memtrace.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memtrace::cli {

// Makes the package importable and takes LD_PRELOAD out of the environment, because memtrace does not trace
// itself. Returns the words as exec takes them: they point into `words`.
std::vector<char*> prepare_python(std::vector<std::string>& words);

// Returns a program for `python -c` that calls `main(words)` of a module of the package, with the words of its
// command line. If the package lacks the module, one line says so and names `what`, the command, and the way
// out: the extra to install. Files of the current folder replace no module of Python.
std::string python_program(std::string_view command, std::string_view module, std::string_view what,
                           std::string_view extra);

} // namespace memtrace::cli
