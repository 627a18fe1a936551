// Purpose: `memtrace doctor`.
#pragma once

#include <string>

namespace memtrace::cli {

struct DoctorArguments {
  std::string format = "text"; // or "json"
  std::string output;          // "": stdout
};

// Prints which features work on this machine, and why the other features do not, by trying them. Returns 0
// always: a missing feature is not an error.
int doctor_command(const DoctorArguments& arguments);

} // namespace memtrace::cli
