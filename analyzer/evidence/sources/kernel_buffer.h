// Purpose: reads the log of the running kernel.
#pragma once

#include <string>

#include "analyzer/evidence/evidence.h"

namespace memtrace::evidence {

// Adds the content of the kernel's buffer, from /dev/kmsg or syslog(2). Returns "", or the reason why it could
// not be read.
std::string read_kernel(Evidence& into);

// Returns the boot_id of the running kernel, or "" if it cannot be read.
std::string boot_id();

} // namespace memtrace::evidence
