// Purpose: checks whether a process of a user without an account is traced.
#pragma once

#include <string>
#include <vector>

#include "analyzer/cli/doctor/device_check.h"

namespace memtrace::cli {

// Returns nothing if the user has a name and HOME is a directory, as on most machines.
std::vector<Check> check_user(const std::string& library);

} // namespace memtrace::cli
