// Purpose: `memtrace doctor`.
#pragma once

#include <string>

namespace memtrace::cli {

struct DoctorArguments {
  std::string format = "text"; // or json
  std::string output;          // empty: stdout
};

// What of this machine memtrace can use, and why not the rest, by trying it. The exit status is 0: what is
// missing is no fault.
int doctor_command(const DoctorArguments& arguments);

} // namespace memtrace::cli
