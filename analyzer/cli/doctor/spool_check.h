// Purpose: where the rings of a traced process would go, and whether that place is a local disk with room.
#pragma once

#include <string>

#include "analyzer/cli/doctor/device_check.h"

namespace memtrace::cli {

// Tried in the place where the traces would go, with the user's MEMTRACE_OUT and MEMTRACE_SPOOL.
Check check_spool(const std::string& library);

} // namespace memtrace::cli
