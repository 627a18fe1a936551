// Purpose: checks whether the workers that Python's multiprocessing starts are traced.
#pragma once

#include <string>
#include <vector>

#include "analyzer/cli/doctor/device_check.h"

namespace memtrace::cli {

// Starts a worker by each start method of python3. Returns nothing if there is no python3.
std::vector<Check> check_workers(const std::string& library);

} // namespace memtrace::cli
