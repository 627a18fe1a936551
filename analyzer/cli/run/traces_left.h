// Purpose: what happens to the files of a job after its end: they move to a shared file system, or are removed
// because a packed file has them.
#pragma once

#include <cstdint>

#include "analyzer/cli/run/job_directory.h"
#include "analyzer/pack/job/pack_job.h"

namespace memtrace::cli {

// Moves the traces of this host that began at `since` or later and whose processes have ended, and what
// `memtrace run` wrote beside them. Throws std::runtime_error with one line if the shared file system cannot be
// written; the local files stay then.
void move_traces_left(const JobPlace& place, std::uint64_t since);

// True if there is such a trace.
bool has_traces_left(const JobPlace& place, std::uint64_t since);

// Removes the files of these traces that the packed file `output` has, then `job`, `node-*` and `*.ends` beside
// them if no other trace is there, then their directories if they are empty. Removes nothing if a process still
// runs, or if a file differs from the packed one; then it prints that on stderr.
void remove_packed_traces(const report::PackedJob& packed, const std::string& output,
                          const std::vector<report::TraceName>& traces);

} // namespace memtrace::cli
