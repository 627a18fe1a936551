// Purpose: finds how a traced process ended, or that it still runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/evidence/kill_matching.h"
#include "analyzer/evidence/manager_matching.h"
#include "analyzer/evidence/watched_ends.h"
#include "analyzer/trace/trace.h"

namespace memtrace::report {

struct ProcessEnd {
  // as the report's contract names it: exit, signal, oom_kill, killed_by_manager, exec, running, stopped,
  // unknown
  std::string how = "unknown";
  std::uint32_t code = 0;  // exit status, or the signal's number
  bool certain = false;    // true: the evidence is about this process and no other
  std::string manager;     // "earlyoom", "kubelet", "torchrun", ...; only if a manager killed it
  bool for_memory = false; // the manager's reason
  std::string after;       // "rank 3": the manager killed it because that process had died; "": not known
  std::vector<std::string> evidence;
  evidence::Witness witness;   // its pointers are valid as long as the evidence lives
  evidence::ShmLeftovers left; // in /dev/shm
};

// Returns the end that the trace records. If the trace has no end, returns "running" if the process still runs,
// else "unknown". `packed`: true or false if the trace was packed while the process ran or not; nullopt: this
// machine decides (see running()).
ProcessEnd read_end(const trace::Trace& trace, std::optional<bool> packed = std::nullopt);

// If the end is unknown, sets it from the witness. Without evidence, a killed process stays unknown.
void apply_evidence(ProcessEnd& ending, const evidence::Witness& witness, const evidence::Evidence& evidence);

// True if a manager may have caused the end: the end is unknown, or SIGTERM, whose sender is not known.
bool may_be_of_manager(const ProcessEnd& ending);

// Sets such an end from what a manager states. `failed`: the name of the process whose failure made
// the manager kill this one, or "".
void apply_evidence(ProcessEnd& ending, const evidence::ManagerWitness& witness, const std::string& failed);

// Sets an unknown end from what a watcher saw. It is certain, but the sender of SIGKILL is not known.
void apply_evidence(ProcessEnd& ending, const evidence::End& end);

// True if the kernel or a manager killed the process for lack of memory.
bool killed_for_memory(const ProcessEnd& end);

// Returns in words how the process ended: "exited with 0", "killed for memory".
std::string ended(const ProcessEnd& end);
// Returns the same without the cause, for a row of a table: "killed by torchrun", "killed by SIGKILL".
std::string ended_briefly(const ProcessEnd& end);

// Returns the limit that the OOM killer enforced: the machine's, or that of the process's own cgroup or of one
// above it.
std::string limit_named(const evidence::Kill& kill);

} // namespace memtrace::report
