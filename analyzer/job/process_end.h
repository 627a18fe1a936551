// Purpose: how a traced process ended, or that it has not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/evidence/kill_matching.h"
#include "analyzer/evidence/watched_ends.h"
#include "analyzer/trace/trace.h"

namespace memtrace::report {

struct ProcessEnd {
  std::string how = "unknown"; // of the contract: exit, signal, oom_kill, exec, running, unknown
  std::uint32_t code = 0;      // exit status, or the signal's number
  bool certain = false;        // what a witness says is about this process and no other
  std::vector<std::string> evidence;
  evidence::Witness witness;   // what it holds lives as long as the evidence
  evidence::ShmLeftovers left; // in /dev/shm
};

// From the trace; where that has no end, from whether the process is still there: same host, same pid, and
// begun before the trace was, so that a pid that was given to another process does not pass for it. Else
// unknown.
ProcessEnd read_end(const trace::Trace& trace);

// Of one that is unknown: what the witness says. Without one a process that was killed stays unknown.
void apply_evidence(ProcessEnd& ending, const evidence::Witness& witness, const evidence::Evidence& evidence);

// The same of what a watcher saw: certain, but of SIGKILL it is not known who sent it.
void apply_evidence(ProcessEnd& ending, const evidence::End& end);

// Returns how it ended in words: "exited with 0", "killed for memory".
std::string ended(const ProcessEnd& end);

// Whether the OOM killer's limit was that of the machine, the process's own cgroup, or one above it.
std::string limit_named(const evidence::Kill& kill);

} // namespace memtrace::report
