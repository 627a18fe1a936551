// Purpose: what of driver, CUPTI and NVML can be used: asked of libmemtrace_cupti.so, in a process of its own.
#pragma once

#include <string>
#include <vector>

namespace memtrace::cli {

struct Check {
  std::string what;
  bool works;
  std::string text;
};

// A driver may hang, and a library crash: then a line says so.
std::vector<Check> check_devices();

} // namespace memtrace::cli
