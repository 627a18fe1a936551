// Purpose: opens a packed file: its members become files that the command can read.
#pragma once

#include <string>

namespace memtrace::pack {

// Returns false if the file is not a zstd file. Otherwise unpacks it, once for the command, into
// files::PackedFiles. If the file was cut off, warns, and the members so far can be read. Throws
// trace::ReadError if it is damaged, if it is not a packed file of memtrace, or if it would unpack to more than
// its size allows.
bool open(const std::string& path);

} // namespace memtrace::pack
