// Purpose: checks which of the launchers in PATH pass LD_PRELOAD on to the program behind them.
#pragma once

#include <string>
#include <vector>

#include "analyzer/cli/doctor/device_check.h"

namespace memtrace::cli {

// Returns a line for the launchers that drop the variables, one for those that start a program elsewhere, and
// one for each that can be tried. Nothing is returned for launchers that are not there.
std::vector<Check> check_launchers(const std::string& library);

} // namespace memtrace::cli
