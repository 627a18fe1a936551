// Purpose: one process of a job: its role in the job, its end, and outside evidence about its end.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "analyzer/evidence/watched_ends.h"
#include "analyzer/job/process_end.h"
#include "analyzer/trace/trace.h"

namespace memtrace::report {

struct Process {
  std::string path;
  std::string kind;    // as the report's contract names it: main, worker, rank, child
  std::size_t job = 0; // number of its job among those whose traces lie together
  trace::Facts facts;
  trace::Samples samples;
  std::string directory;               // of its cgroup; "": unknown
  std::unique_ptr<trace::Trace> trace; // as the survey opened it; null: the survey had too many open
  ProcessEnd end;
  // The highest level of the host that was its own (passes/touched_peak.h). Set only if the order needs it.
  std::optional<std::uint64_t> peak;
  bool failed = false; // true: it gave up after one of its allocations had failed
  std::optional<evidence::End>
      watched; // as `memtrace run` saw it; set only if its trace does not say how it ended
  std::unique_ptr<evidence::Evidence> evidence; // set if its trace does not say how it ended
  evidence::Subject subject;                    // set together with `evidence`
};

} // namespace memtrace::report
