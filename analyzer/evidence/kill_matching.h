// Purpose: matches evidence with the processes that it is about.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/evidence/subject.h"

namespace memtrace::evidence {

struct Witness {
  const Kill* kill = nullptr;           // the kernel's message about the kill
  const CgroupState* counter = nullptr; // its cgroup, which has counted a kill since the last sample
  const Statement* statement = nullptr; // about its container or job step, which ended when the process ended
  const ProgramFault* fault = nullptr;
  bool certain = false; // false: the evidence fits only by time, cgroup and size
  // Seconds between the last record and the kill; 0: the clocks of both may differ by as much. A trace that was
  // cut off, or a process that hung, has no records of that time.
  double unrecorded = 0;
  // Set if more processes ended without a recorded end than kills fit. The kill may be about one of the other
  // processes.
  std::size_t other_candidates = 0;
};

// Returns one Witness for each subject. All subjects are of one job and are matched together, because a kill is
// about one process.
std::vector<Witness> match(const std::vector<Subject>& subjects);

} // namespace memtrace::evidence
