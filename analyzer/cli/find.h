// Room: cli.
// Job: what the argument TRACE means: files to read.
#pragma once

#include <string>
#include <vector>

namespace memtrace::cli {

// A trace file, or all of a directory, by name. "" is the newest job under ./memtrace-out.
// Throws Usage when there is none; a file is given as it is, readable or not.
std::vector<std::string> find_traces(const std::string& argument);

} // namespace memtrace::cli
