// Purpose: reads the counters of memory cgroups that still exist.
#pragma once

#include <string>
#include <vector>

#include "analyzer/evidence/evidence.h"

namespace memtrace::evidence {

// Returns the state of the memory cgroup in this directory. Its files show whether it is version 1 or 2. `root`
// is put before every path.
CgroupState read_group(const std::string& path, const std::string& root = "");

} // namespace memtrace::evidence
