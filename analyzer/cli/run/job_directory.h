// Purpose: where the traces of a job that is about to start will be: as the recorder will decide it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/job/trace_name.h"

namespace memtrace::cli {

struct JobPlace {
  std::string host;
  std::string job;
  std::vector<std::string> patterns; // of directories, for glob: where it was asked for, then where else
};

// Of what runs next in this environment and directory. A job that we are part of is joined; else one is named
// after `pid`, its founder's.
JobPlace job_place(std::uint64_t unix_seconds, int pid);

// All traces of this host in those directories that began at `since` or later, in the order of their beginning.
std::vector<report::TraceName> traces_since(const JobPlace& place, std::uint64_t since);

} // namespace memtrace::cli
