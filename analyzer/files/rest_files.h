// Purpose: the files inside STEM.rest, which has the other files of a trace that was copied to a shared file
// system.
#pragma once

#include <string>
#include <vector>

namespace memtrace::files {

// Returns a descriptor of a copy of the file `path`, which the caller closes, if the STEM.rest beside it has
// that file. Returns -1 with errno set; ENOENT if there is none.
int open_in_rest(const std::string& path);

// Returns the names of the files that `path`, a STEM.rest, has.
std::vector<std::string> names_in_rest(const std::string& path);

} // namespace memtrace::files
