// Purpose: predicts the directories in which the recorder will write the traces of a new job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/job/trace_name.h"

namespace memtrace::cli {

struct JobPlace {
  std::string host;
  std::string job;
  std::vector<std::string> patterns; // glob patterns: the requested directory first, then the fallbacks
  // True if the requested directory is on a shared file system, which is not looked at while the program runs.
  bool shared = false;
  std::string requested; // its pattern
};

// Returns the place of the next program in this environment and directory. If this process belongs to a job,
// the program joins it. Else the new job is named after `pid`, its founder.
JobPlace job_place(std::uint64_t unix_seconds, int pid);

// Returns the patterns of the directories on a shared file system that have the copies of this host.
std::vector<std::string> copy_patterns(const JobPlace& place);
// Returns all traces of this host in those directories that began at `since` or later, ordered by their start.
std::vector<report::TraceName> traces_since(const JobPlace& place, std::uint64_t since);
// Returns these traces, and those that are only on the shared file system.
std::vector<report::TraceName> traces_and_copies_since(const JobPlace& place, std::uint64_t since);

} // namespace memtrace::cli
