// Purpose: finds the job of this process, and the directories of its files.
// Runs: in the constructor, and once when the recorder starts.
#pragma once

#include <cstddef>

#include "preload/bounded/fixed_string.h"

namespace memtrace::record {

struct JobDirectory {
  Path directory; // of the job's traces, absolute
  // The job's directory on a shared file system. `directory` is then a local one in its place, from which the
  // background thread copies (copies/). Empty: `directory` is the job's directory itself.
  Path shared;
  Path spool;     // of the ring file, absolute; empty: beside the trace
  Path temporary; // $TMPDIR, else /tmp
  Line<128> job;
  Line<128> host;
  Line<64> launcher; // empty: no launcher found
  std::uint32_t rank = ~0u;
  std::uint32_t local_rank = ~0u;
  std::uint32_t world = 0;
  bool founder = false;
  bool settled = false;      // local_place.h has chosen `directory`
  bool alone = false;        // each job has its own directory, beside those of the other jobs
  std::uint64_t began = 0;   // Unix time in ns at which the job was founded
  std::uint64_t command = 0; // hash of the founder's command line
};

extern constinit JobDirectory place;

// Keeps the bytes of the command line, whose hash is in the job. The constructor calls it first.
void remember_command(const char* arguments, std::size_t bytes);
// If MEMTRACE_JOB is not set, this process founds the job: names it, and sets the variable for its descendants.
// Constructor only, because programs call chdir.
void found_job();
// If this process founded the job, counts its seccomp filters for its descendants. find_place() does it, too.
void count_filters();
// Finds or founds the job, and expands MEMTRACE_OUT. Once, when the recorder starts.
void find_place();

// True if a process of this job installed seccomp filters before it started this process: there are more
// filters than the founder had. The founder's own filters may come from a container's runtime.
bool starts_in_a_sandbox();

// Makes `directory` and the directories above it. Returns 0, a negative errno or os::kNotOurs. `*there` is the
// length of the path that existed before, for remove_directories.
long make_directories(const char* directory, std::size_t* there);
// Makes the directory at `path` for this user alone, or accepts an existing one. Returns 0, a negative errno,
// os::kNotOurs or os::kWritableByOthers. If it returns 0, no other user can have made the directory or can put
// files into it.
long make_own_directory(const char* path, bool* made);
// Removes the directories that make_directories made, as far as they are empty.
void remove_directories(const char* directory, std::size_t there);

} // namespace memtrace::record
