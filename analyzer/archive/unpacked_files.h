// Purpose: writes the files of a packed file into a directory.
#pragma once

#include <cstddef>
#include <string>

namespace memtrace::archive {

// The packed file was opened. Makes the directory if it is missing. Returns the number of files. Throws
// std::runtime_error with one line if one of them is already there or cannot be written. Then it removes those
// that it wrote.
std::size_t write_files(const std::string& pack, const std::string& directory);

} // namespace memtrace::archive
