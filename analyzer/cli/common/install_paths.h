// Purpose: finds the libraries and the Python package that belong to this command.
#pragma once

#include <string>

namespace memtrace::cli {

// Returns the path of a library, or "" if it is not there. Installed: bin/memtrace and lib/NAME. In a build
// tree: analyzer/memtrace and preload/NAME.
std::string installed_library(const std::string& name);
// Returns the path where the library should be, for messages.
std::string expected_library(const std::string& name);

// Returns the file of this command.
std::string command_file();

// Returns the folder with the Python package memtrace, or "" if it is not there. Installed:
// lib/memtrace/python; in the wheel: the folder of packages.
std::string installed_package();
// Puts that folder on PYTHONPATH, because a Python may lack the package.
void add_package_to_path();

} // namespace memtrace::cli
