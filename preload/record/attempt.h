// Room: record. Once, when recording begins; also inside a malloc, on a small stack.
// Job: which attempt of a job this is in its directory, and what the one before came to.
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
};

// Writes the job's file, `job`, `job-2`, ..., if this process is the first of its job that records.
Attempt take_attempt(const char* directory);

} // namespace memtrace::record
