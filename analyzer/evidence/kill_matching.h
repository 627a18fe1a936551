// Purpose: which of the evidence is about which process.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/evidence/evidence.h"

namespace memtrace::evidence {

// A process of which the trace does not say how it ended.
struct Subject {
  std::uint64_t pid = 0;
  std::optional<bool> first_pids; // its pid is the kernel's own; else it lives in a pid namespace; or not known
  double began = 0, last = 0;     // seconds since boot: when its trace begins, and its last record
  double began_unix = 0, last_unix = 0;
  std::string host;
  std::string group; // its memory cgroup, as far as it saw it: "/" may be any
  // By the path of a cgroup's directory, its own alone: how many kills it had counted at the last sample, and
  // whether it was near a limit.
  std::string directory;
  std::uint64_t kills_counted = kUnknown;
  bool near_limit = false;
  std::uint64_t anon = 0; // resident at the last sample
  const Evidence* evidence = nullptr;
};

struct Witness {
  const Kill* kill = nullptr;           // the kernel's own word
  const CgroupState* counter = nullptr;       // its cgroup has counted a kill since the last sample
  const Statement* statement = nullptr; // of its container or job step, which ended with it
  const ProgramFault* fault = nullptr;
  bool certain = false; // else it fits, by time, cgroup and size
  // More processes ended without a word than there are kills that fit: it may be about another one of them.
  std::size_t other_candidates = 0;
};

// One for each subject. They are those of one job, looked at together: a kill is about one process.
std::vector<Witness> match(const std::vector<Subject>& subjects);

} // namespace memtrace::evidence
