// Purpose: a directory for the files of one fuzz target: its readers open paths.
#pragma once

#include <string>
#include <string_view>

namespace memtrace::tests {

// Made in TMPDIR with the first call, and removed at exit with all that is in it. A target that finds something
// does not get there: scripts/fuzz gives each a TMPDIR in memory, and removes that.
std::string in_place(const std::string& name);

// Replaces the file. The target ends when it cannot be written.
void put_file(const std::string& path, std::string_view bytes);
void drop_file(const std::string& path);

} // namespace memtrace::tests
