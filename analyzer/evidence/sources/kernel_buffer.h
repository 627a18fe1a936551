// Purpose: the log of the kernel that runs here.
#pragma once

#include <string>

#include "analyzer/evidence/evidence.h"

namespace memtrace::evidence {

// Adds what the kernel's buffer holds, of /dev/kmsg or of syslog(2). Returns "" or why it could not be read.
std::string read_kernel(Evidence& into);

// Of the kernel that runs here: its boot_id, "" if it is not said.
std::string boot_id();

} // namespace memtrace::evidence
