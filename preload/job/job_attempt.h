// Purpose: which attempt of a job this is in its directory, and what the one before came to.
// Runs: once, when recording begins; also inside a malloc, on a small stack.
#pragma once

#include <cstdint>

namespace memtrace::record {

// A job that begins in a directory where another one ended is its next attempt. Where the other one still runs,
// the ranks of an `srun` that each found a job, they are one attempt.
struct Attempt {
  std::uint32_t number = 1;
  bool opens = false;     // this process is the first of it
  bool founds = false;    // the first of its job
  std::uint32_t died = 0; // the last attempt before that a process was killed in, short of memory; 0: none
  bool counted = false;   // its cgroup has counted a kill since: that was it
  std::uint64_t left = 0; // bytes of `limit` at its last sample
  std::uint64_t limit = 0;
  std::uint64_t failed = 0; // bytes that it asked for in vain just before it gave up; 0: it was killed
};

// Writes the job's file, `job`, `job-2`, ..., if this process is the first of its job that records. Where each
// job has a directory of its own, the attempts before are those beside it.
Attempt take_attempt(const char* directory);

// An allocation could not be had.
void remember_refusal(std::uint64_t bytes);
// This process gives up now: if it was refused memory just before, the job's file says so.
void note_giving_up();

} // namespace memtrace::record
