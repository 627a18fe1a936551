// Purpose: the libraries that an ELF file needs.
#pragma once

#include <string>
#include <vector>

namespace memtrace::symbols {

// Returns the names in DT_NEEDED, in order. Empty if there are none or the file is not a readable ELF file.
std::vector<std::string> needed_libraries(const std::string& path);

} // namespace memtrace::symbols
