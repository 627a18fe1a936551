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
};

// Returns the place of the next program in this environment and directory. If this process belongs to a job,
// the program joins it. Else the new job is named after `pid`, its founder.
JobPlace job_place(std::uint64_t unix_seconds, int pid);

// Returns all traces of this host in those directories that began at `since` or later, ordered by their start.
std::vector<report::TraceName> traces_since(const JobPlace& place, std::uint64_t since);

} // namespace memtrace::cli
