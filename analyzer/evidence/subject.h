// Purpose: the facts of a process that are compared with evidence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "analyzer/evidence/evidence.h"

namespace memtrace::evidence {

// A process whose trace does not say how it ended.
struct Subject {
  std::uint64_t pid = 0;
  // true: its pid is the kernel's own; false: it lives in a pid namespace; nullopt: not known
  std::optional<bool> first_pids;
  double began = 0, last = 0; // seconds since boot: the begin of its trace, and its last record
  double began_unix = 0, last_unix = 0;
  std::string host;
  bool only_host = true; // false: processes of its job ran on other hosts, too
  std::string group;     // its memory cgroup as the process saw it; "/" may be any cgroup
  // Of the process's own cgroup, by the path of its directory. The kills are those that it had counted at the
  // last sample; `near_limit`: it was near a limit then.
  std::string directory;
  std::uint64_t kills_counted = kUnknown;
  bool near_limit = false;
  std::uint64_t anon = 0; // anonymous memory resident at the last sample
  const Evidence* evidence = nullptr;
};

// True if both names are those of one host. One of them may have the domain.
inline bool same_host(const std::string& a, const std::string& b) {
  return a == b || a.starts_with(b + ".") || b.starts_with(a + ".");
}

} // namespace memtrace::evidence
