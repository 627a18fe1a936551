// Purpose: `memtrace doctor`.
#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace memtrace::cli {

struct DoctorArguments {
  std::string format = "text"; // or "json"
  std::string output;          // "": stdout
};

// Adds the subcommand to the command line. If the user gives it, `parsed` gets its arguments.
void add_doctor(CLI::App& app, const std::function<void(const DoctorArguments&)>& parsed);

// Prints which features work on this machine, and why the other features do not, by trying them. Returns 0
// always: a missing feature is not an error.
int doctor_command(const DoctorArguments& arguments);

} // namespace memtrace::cli
