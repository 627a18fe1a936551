// Purpose: the preload object of this installation, and its place in LD_PRELOAD.
#pragma once

#include <string>

namespace memtrace::cli {

// Returns the path of libmemtrace.so. Throws UsageError if it is not there, or if LD_PRELOAD cannot hold its
// path.
std::string preload_object();

// Returns `list`, a value of LD_PRELOAD, with `object` in front. Returns it unchanged if `object` is in it.
std::string with_object(const std::string& object, const std::string& list);

// Returns `list` without `object`.
std::string without_object(const std::string& object, const std::string& list);

} // namespace memtrace::cli
