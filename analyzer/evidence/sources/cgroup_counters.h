// Purpose: the counters of memory cgroups that are still there.
#pragma once

#include <string>
#include <vector>

#include "analyzer/evidence/evidence.h"

namespace memtrace::evidence {

// Reads the directory of a memory cgroup, version 1 or 2, which its files tell. `root` stands before every
// path.
CgroupState read_group(const std::string& path, const std::string& root = "");

} // namespace memtrace::evidence
