// Purpose: opens a packed file: its members become files that the command can read.
#pragma once

#include <optional>
#include <string>

namespace memtrace::archive {

// Returns nullopt if the file is not a zstd file. Otherwise unpacks it, once for the command, into
// files::PackedFiles. Returns "" if it is whole. If it was cut off, returns one line about it, and the members
// so far can be read. Throws trace::ReadError if it is damaged, if it is not a packed file of memtrace, or if
// it would unpack to more than its size allows.
std::optional<std::string> open(const std::string& path);

} // namespace memtrace::archive
