// Purpose: which libraries an ELF file names as needed.
#pragma once

#include <string>
#include <vector>

namespace memtrace::symbols {

// Their names as they stand in DT_NEEDED, in order. Empty: none, or the file is no ELF file that can be read.
std::vector<std::string> needed_libraries(const std::string& path);

} // namespace memtrace::symbols
