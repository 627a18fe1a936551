// Room: tests.
// Job: a directory in memory for the files of one fuzz target: its readers open paths.
#pragma once

#include <string>
#include <string_view>

namespace memtrace::tests {

// Made with the first call and removed at exit, with all that is in it. In /dev/shm where that is writable.
std::string in_place(const std::string& name);

// Replaces the file. The target ends when it cannot be written.
void put_file(const std::string& path, std::string_view bytes);
void drop_file(const std::string& path);

} // namespace memtrace::tests
