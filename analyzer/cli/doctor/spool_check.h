// Purpose: checks whether the rings of a traced process go to a local disk with enough space.
#pragma once

#include <string>

#include "analyzer/cli/doctor/device_check.h"

namespace memtrace::cli {

// Traces a process where the traces would go, with the user's MEMTRACE_OUT and MEMTRACE_SPOOL, and reports
// where its rings were.
Check check_spool(const std::string& library);

} // namespace memtrace::cli
