// Purpose: `memtrace doctor`.
#pragma once

#include <string>

namespace memtrace::cli {

struct DoctorArguments {
  std::string format = "text"; // or "json"
  std::string output;          // "": stdout
};

// Prints whether memtrace can record programs on this machine, then what limits it and what works, by trying
// each feature. Returns 0, also if a feature is missing, and 1 if no process can be traced here.
int doctor_command(const DoctorArguments& arguments);

} // namespace memtrace::cli
