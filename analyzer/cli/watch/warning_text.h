// Purpose: words of a warning that a limit is near, and the variables that a command gets.
#pragma once

#include <optional>
#include <string>

#include "analyzer/cli/watch/near_limit_command.h"
#include "analyzer/replay/phase_position.h"
#include "analyzer/watch/memory_limit.h"
#include "analyzer/watch/process_tree.h"

namespace memtrace::cli {

struct NearLimit {
  watch::LimitUse use;
  std::optional<watch::Grown> grown; // the process that grew most; not of a device
  int pid = 0;                       // the process to name to a command; 0: none
  std::string program;               // its name
  std::string phase;                 // its phase, "" for none
  replay::Step step = replay::Step::none;
  std::string directory; // of the job's traces; "" if there is none yet
  int command = 0;       // pid of the command
};

// Returns "901.00 MiB of 1000.00 MiB of the cgroup /a used (90.1 %), 99.00 MiB left; python3 (pid 7) grew by
// 512.00 MiB in 3.2 s, in backward of step 12".
std::string warning_text(const NearLimit& near);

// Returns the variables that docs/watch.md lists.
NearLimitCommand::Variables warning_variables(const NearLimit& near);

} // namespace memtrace::cli
