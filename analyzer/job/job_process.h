// Purpose: one process of a job: what it was, how it ended, and what is known of that from elsewhere.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "analyzer/evidence/watched_ends.h"
#include "analyzer/job/process_end.h"
#include "analyzer/trace/trace.h"

namespace memtrace::report {

struct Process {
  std::string path;
  std::string kind; // of the contract: main, worker, rank, child
  trace::Facts facts;
  trace::Samples samples;
  std::string directory;               // of its cgroup; "": not known
  std::unique_ptr<trace::Trace> trace; // of the only one: reading it twice takes its time
  ProcessEnd end;
  bool failed = false; // it gave up, and an allocation of it had failed
  std::optional<evidence::End>
      watched; // as `memtrace run` saw it, of one that its trace does not tell the end of
  std::unique_ptr<evidence::Evidence> evidence; // of one that its trace does not tell the end of
  evidence::Subject subject;                    // of such a one, too
};

} // namespace memtrace::report
