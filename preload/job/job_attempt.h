// Purpose: finds which attempt of a job this is in its directory, and how the attempt before ended.
// Runs: once, when recording begins; also inside a malloc, on a small stack.
#pragma once

#include <cstdint>

namespace memtrace::record {

// If a job begins in a directory where another job ended, it is the next attempt. If the other job still runs,
// both are one attempt: the ranks of an `srun` that each founded a job.
struct Attempt {
  std::uint32_t number = 1;
  bool opens = false;     // this process is the first of the attempt
  bool founds = false;    // this process is the first of its job
  std::uint32_t died = 0; // the last attempt before that ended because it was short of memory; 0: none
  bool counted = false;   // its cgroup has counted a kill since, which confirms the cause
  std::uint64_t left = 0; // bytes left of `limit` at its last sample
  std::uint64_t limit = 0;
  std::uint64_t failed = 0; // bytes of the allocation that failed just before it gave up; 0: it was killed
};

// Writes the job's file, `job`, `job-2`, ..., if this process is the first of its job that records. If each job
// has its own directory, the attempts before are in the directories beside it.
Attempt take_attempt(const char* directory);

// Returns the job's file if this process wrote it, else "".
const char* founded_job_file();

// Removes the files that attempts older than the previous one left on this host, if no process of theirs runs.
// True if it removed any. False if the directory has other jobs, too, or if traces are copied to a shared file
// system.
bool drop_old_attempts(const char* directory);

// Remembers that an allocation of `bytes` failed.
void remember_refusal(std::uint64_t bytes);
// Called when this process ends with an error. If an allocation failed just before, adds that to the job's
// file.
void note_giving_up();

} // namespace memtrace::record
