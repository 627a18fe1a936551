// Purpose: moves the files of a trace from a local directory to the job's directory on a shared file system.
#pragma once

#include <string>

namespace memtrace::files {

// Appends to `shared`.memtrace what it lacks of `local`.memtrace, and writes the other files to `shared`.rest.
// Then removes the local files, as the recorder does (preload/copies/copied_trace.h). The process has ended.
// Returns false, with errno set, if that is not whole; then the local files stay.
bool move_trace(const std::string& local, const std::string& shared);

// Copies a small file and removes it.
bool move_small_file(const std::string& from, const std::string& to);
// Copies a small file that is not there yet.
bool copy_small_file(const std::string& from, const std::string& to);

// Returns the Unix time in s at which the trace or one of its windows was last written, or 0 if that is not
// known.
double written_at(const std::string& path);

} // namespace memtrace::files
