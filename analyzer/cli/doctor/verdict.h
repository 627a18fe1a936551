// Purpose: the answer of `memtrace doctor` in one line, from its checks.
#pragma once

#include <string>
#include <vector>

#include "analyzer/cli/doctor/device_check.h"

namespace memtrace::cli {

struct Verdict {
  bool records; // false: no process can be traced on this machine
  std::string text;
};

// Returns "memtrace can record programs here: host memory yes, Python stacks yes, GPU no (no NVIDIA driver)",
// or why it cannot.
Verdict verdict_of(const std::vector<Check>& checks);

} // namespace memtrace::cli
