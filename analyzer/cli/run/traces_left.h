// Purpose: takes what a job left on the local disk to its directory on a shared file system.
#pragma once

#include <cstdint>

#include "analyzer/cli/run/job_directory.h"

namespace memtrace::cli {

// Moves the traces of this host that began at `since` or later and whose processes have ended, and what
// `memtrace run` wrote beside them. Throws std::runtime_error with one line if the shared file system cannot be
// written; the local files stay then.
void move_traces_left(const JobPlace& place, std::uint64_t since);

// True if there is such a trace.
bool has_traces_left(const JobPlace& place, std::uint64_t since);

} // namespace memtrace::cli
