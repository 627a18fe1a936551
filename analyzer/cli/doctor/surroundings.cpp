// Purpose: checks what the kernel and the container let memtrace observe.
#include "analyzer/cli/doctor/surroundings.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>

#include "analyzer/evidence/sources/kernel_buffer.h"
#include "analyzer/files/reading.h"
#include "analyzer/wording/units.h"

namespace memtrace::cli {
namespace {

namespace fs = std::filesystem;

// Docker's default size of /dev/shm. PyTorch's loaders pass batches through this file system.
constexpr std::uint64_t kSmallShared = std::uint64_t{64} << 20;

Check check_kernel_log() {
  evidence::Evidence log;
  const std::string refused = evidence::read_kernel(log);
  if (refused.empty())
    return {"kernel's log", true, "can be read: it says which process was killed for memory"};
  return {
      "kernel's log", false,
      refused + ": kills are told by the cgroup's counters; an administrator can save `dmesg` for --evidence"};
}

// Returns the hidepid option of /proc, from lines such as "25 1 0:23 / /proc rw,nosuid - proc proc
// rw,hidepid=invisible". The last mount covers the earlier ones. "": processes are not hidden.
std::string option_of_proc() {
  std::istringstream mounts(files::system_text("/proc/self/mountinfo"));
  std::string found;
  for (std::string line; std::getline(mounts, line);) {
    if (line.find(" /proc ") == std::string::npos) continue;
    const std::size_t at = line.find("hidepid=");
    found = at == std::string::npos ? "" : line.substr(at, line.find_first_of(", ", at) - at);
  }
  return found == "hidepid=off" || found == "hidepid=0" ? "" : found;
}

Check check_processes() {
  const std::string option = option_of_proc();
  if (option.empty() || ::geteuid() == 0) return {"processes", true, "those of other users are seen in /proc"};
  return {
      "processes", false,
      "those of other users are hidden (/proc is mounted with " + option + "): the ledger of a job lacks them"};
}

std::uint64_t number_of(const std::string& name) {
  std::istringstream status(files::system_text("/proc/self/status"));
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name)) return std::strtoull(line.c_str() + name.size(), nullptr, 10);
  return 0;
}

Check check_sandbox() {
  const std::uint64_t filters = number_of("Seccomp_filters:"), mode = number_of("Seccomp:");
  if (mode == 0) return {"sandbox", true, "no filter of system calls"};
  return {"sandbox", true,
          fmt::format("{} of system calls: recording goes on, and what a filter refuses is counted as lost",
                      filters == 1   ? "1 filter"
                      : filters == 0 ? "a filter"
                                     : fmt::format("{} filters", filters))};
}

Check check_shared_memory() {
  std::error_code error;
  const fs::space_info space = fs::space("/dev/shm", error);
  if (error) return {"/dev/shm", false, "is not there: PyTorch's loaders cannot hand batches on in it"};
  if (space.capacity > kSmallShared) return {"/dev/shm", true, "has " + report::sized(space.capacity)};
  return {"/dev/shm", false,
          fmt::format("has {}: PyTorch's loaders hand batches on in it (docker run --shm-size)",
                      report::sized(space.capacity))};
}

} // namespace

std::vector<Check> check_surroundings() {
  return {check_kernel_log(), check_processes(), check_sandbox(), check_shared_memory()};
}

} // namespace memtrace::cli
