// Purpose: commands that are modules of the Python package memtrace.
#pragma once

#include <string>
#include <vector>

namespace memtrace::cli {

// Becomes `words`, the command line of a Python, not recorded, with the package of this installation on its
// path. Throws UsageError, which ends with `way_out`, if there is no such Python.
[[noreturn]] void become_python(std::vector<std::string> words, const std::string& way_out);

} // namespace memtrace::cli
