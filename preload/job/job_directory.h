// Purpose: which job this process belongs to, and where its files go.
// Runs: once, in the constructor: programs chdir.
#pragma once

#include "preload/bounded/fixed_string.h"

namespace memtrace::record {

struct JobDirectory {
  Path directory; // of the job's traces, absolute
  Path spool;     // of the ring file, absolute; empty: beside the trace
  Path temporary; // $TMPDIR, else /tmp
  Line<128> job;
  Line<128> host;
  Line<64> launcher; // empty: none seen
  std::uint32_t rank = ~0u;
  std::uint32_t local_rank = ~0u;
  std::uint32_t world = 0;
  bool founder = false;
  bool alone = false;        // each job has a directory of its own, beside those of the others
  std::uint64_t began = 0;   // Unix time in ns at which the job was founded
  std::uint64_t command = 0; // hash of the founder's command line
};

extern constinit JobDirectory place;

// Finds or founds the job (an unset MEMTRACE_JOB makes this process the founder, which sets it for its
// descendants), expands MEMTRACE_OUT. Constructor only.
void find_place();

// True if a process of this job installed seccomp filters for this one to start under: more are there than the
// founder had, which a container's runtime may have given it. Constructor only.
bool starts_in_a_sandbox();

// Makes `directory` and what is above it: 0 or a negative errno. `*there` are the bytes of the path that were
// there before, for remove_directories.
long make_directories(const char* directory, std::size_t* there);
// Makes the directory at `path` for this user alone, or finds it made. 0 or a negative errno, os::kNotOurs or
// os::kWritableByOthers. No other user can have put it there, or can put files into it.
long make_own_directory(const char* path, bool* made);
// Takes away what make_directories made, as far as nothing has come into it.
void remove_directories(const char* directory, std::size_t there);

} // namespace memtrace::record
