// Purpose: checks whether an active conda environment keeps LD_PRELOAD, and whether its Python is the first
// one.
#pragma once

#include <string>
#include <vector>

#include "analyzer/cli/doctor/device_check.h"

namespace memtrace::cli {

// Returns nothing if no conda environment is active.
std::vector<Check> check_conda(const std::string& library);

} // namespace memtrace::cli
