// Purpose: prepares this process for a Python program that uses the package memtrace.
#pragma once

#include <string>
#include <vector>

namespace memtrace::cli {

// Makes the package importable and takes LD_PRELOAD out of the environment, because memtrace does not trace
// itself. Returns the words as exec takes them: they point into `words`.
std::vector<char*> prepare_python(std::vector<std::string>& words);

} // namespace memtrace::cli
