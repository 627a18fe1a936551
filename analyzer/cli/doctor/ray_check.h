// Purpose: checks whether a cluster of Ray on this machine starts its workers with memtrace.
#pragma once

#include <optional>

#include "analyzer/cli/doctor/device_check.h"

namespace memtrace::cli {

// Returns nullopt if no raylet runs, or if none can be looked at.
std::optional<Check> check_ray();

} // namespace memtrace::cli
