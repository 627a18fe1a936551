// Purpose: checks whether the driver, CUPTI and NVML work. libmemtrace_cupti.so probes them in a separate
// process.
#pragma once

#include <string>
#include <vector>

namespace memtrace::cli {

struct Check {
  std::string what;
  bool works;
  std::string text;
};

// Returns one line for each component. If the driver hangs or a library crashes, a line reports it.
std::vector<Check> check_devices();

} // namespace memtrace::cli
