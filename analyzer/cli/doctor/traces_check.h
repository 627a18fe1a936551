// Purpose: checks where the traces of a job that is started here go.
#pragma once

#include <string>

#include "analyzer/cli/doctor/device_check.h"

namespace memtrace::cli {

// If that directory (MEMTRACE_OUT) cannot be written, traces a process there, and reports what memtrace prints
// about it.
Check check_traces(const std::string& library);

} // namespace memtrace::cli
