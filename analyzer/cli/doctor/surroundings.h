// Purpose: checks what the kernel and the container let memtrace observe.
#pragma once

#include <vector>

#include "analyzer/cli/doctor/device_check.h"

namespace memtrace::cli {

// Checks the kernel log, the processes of other users, system call filters and /dev/shm.
std::vector<Check> check_surroundings();

} // namespace memtrace::cli
