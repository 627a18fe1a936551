// Purpose: decides which parts of a path are public: those of the system, the standard library and packages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memtrace::redact {

// Returns the parts between the slashes. That of an absolute path begins with an empty one.
std::vector<std::string> parts_of(const std::string& path);

// Returns the number of the first public part. It and all parts behind it stay. Returns the number of parts if
// each may be private.
std::size_t first_public(const std::vector<std::string>& parts);

// True for a name that is the same on every machine: "lib", "python3.11", "12".
bool is_common(std::string_view name);

// True for the name of a public shared library, wherever it lies: "libcudart.so.12".
bool is_public_library(std::string_view name);

// True for the name of an interpreter or a public library: the sources that its debug information names are
// public unless it was built in a private folder.
bool is_public_object(std::string_view name);

// True for a package whose files decide the roles of memory.
bool is_public_package(std::string_view name);

// Returns the part of a file's name that stays: ".py" of "train.py", ".so.1" of "libfill.so.1". "": none.
std::string_view known_suffix(std::string_view name);

} // namespace memtrace::redact
