// Purpose: `memtrace jupyter install`: adds a kernel to Jupyter that runs under the preload.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace memtrace::cli {

struct JupyterArguments {
  std::string python = "python3";                             // runs the kernel; has ipykernel
  std::string prefix;                                         // "": the folder of the user, unless sys_prefix
  bool sys_prefix = false;                                    // the environment of `python`
  std::string name = "memtrace";                              // of the kernel's folder
  std::string display_name;                                   // "": from the version of Python
  std::vector<std::pair<std::string, std::string>> variables; // MEMTRACE_* and their values
};

// Becomes the installer, in the Python of the kernel: only its Jupyter knows the places of kernels. Throws
// UsageError if there is no preload object or no such Python.
int jupyter_command(const JupyterArguments& arguments);

} // namespace memtrace::cli
