// Purpose: reads the logs in which the managers of this machine write.
#pragma once

#include <string>

#include "analyzer/evidence/evidence.h"

namespace memtrace::evidence {

// Adds what systemd-oomd and earlyoom wrote to the text logs of this machine: /var/log/syslog and
// /var/log/messages, the last 16 MiB of each. Where only the journal exists, `journalctl` must give its text.
// `root` is put before each path.
void read_manager_logs(Evidence& into, double near_unix, const std::string& root = "");

} // namespace memtrace::evidence
