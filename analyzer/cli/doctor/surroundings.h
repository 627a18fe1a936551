// Purpose: what the kernel and the container let memtrace see.
#pragma once

#include <vector>

#include "analyzer/cli/doctor/device_check.h"

namespace memtrace::cli {

// The kernel's log, the processes of others, filters of system calls, /dev/shm.
std::vector<Check> check_surroundings();

} // namespace memtrace::cli
