// Purpose: checks whether the memory counters of this process's cgroup can be read.
#pragma once

#include "analyzer/cli/doctor/device_check.h"

namespace memtrace::cli {

Check check_cgroup();

} // namespace memtrace::cli
