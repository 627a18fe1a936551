// Purpose: checks whether srun passes LD_PRELOAD on to the tasks of a job of Slurm.
#pragma once

#include <optional>
#include <string>

#include "analyzer/cli/doctor/device_check.h"

namespace memtrace::cli {

// Returns nullopt if there is no srun. Inside a job, srun runs a program on this node. Elsewhere it would wait
// for a node, so the setting that srun inherits decides.
std::optional<Check> check_srun(const std::string& library);

} // namespace memtrace::cli
