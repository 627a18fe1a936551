// Purpose: matches the statements of managers that they ended a process with the processes of a job.
#pragma once

#include <vector>

#include "analyzer/evidence/subject.h"

namespace memtrace::evidence {

struct ManagerWitness {
  const ManagerKill* kill = nullptr; // nullptr: no statement is about the process
  bool certain = false;              // true: it names the process, its cgroup or its pod, at this time
};

// Returns one witness for each subject.
std::vector<ManagerWitness> match_managers(const std::vector<Subject>& subjects);

} // namespace memtrace::evidence
