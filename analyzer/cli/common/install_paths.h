// Purpose: where the libraries lie that belong to this command.
#pragma once

#include <string>

namespace memtrace::cli {

// Installed: bin/memtrace and lib/NAME. In a build tree: analyzer/memtrace and preload/NAME. Empty: it is not
// there.
std::string installed_library(const std::string& name);
// Where it should lie, for people.
std::string expected_library(const std::string& name);

} // namespace memtrace::cli
