// Purpose: checks how the traces of a job reach a shared file system, and what is lost if the local disk goes
// with the job.
#pragma once

#include <optional>

#include "analyzer/cli/doctor/device_check.h"

namespace memtrace::cli {

// Returns nullopt if the traces of a job that is started here would not be on a shared file system.
std::optional<Check> check_shared();

} // namespace memtrace::cli
