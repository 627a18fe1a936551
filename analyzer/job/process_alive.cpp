// Purpose: finds whether a traced process still runs on this machine.
#include "analyzer/job/process_alive.h"

#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "analyzer/evidence/sources/kernel_buffer.h"
#include "analyzer/files/reading.h"

namespace memtrace::report {
namespace {

namespace fs = std::filesystem;

// Returns the Unix time in seconds at which this machine's kernel booted, or -1 if it is not stated.
double boot_time() {
  std::istringstream stat(files::system_text("/proc/stat"));
  std::string line;
  while (std::getline(stat, line)) {
    if (line.rfind("btime ", 0) == 0) return std::stod(line.substr(6));
  }
  return -1;
}

// Returns the Unix time in seconds at which the present process with this pid began, or -1 if there is none.
double began(const std::string& pid) {
  std::istringstream stat(files::system_text("/proc/" + pid + "/stat"));
  std::string line;
  if (!std::getline(stat, line)) return -1;
  const std::size_t name_end = line.rfind(')'); // a name may contain any character
  if (name_end == std::string::npos) return -1;
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  char state = 0;
  fields >> state;
  if (state == 'Z' || state == 'X') return -1;
  for (int i = 4; i < 22; ++i) fields >> field;
  double ticks = 0;
  fields >> ticks;
  const double boot = boot_time();
  return boot < 0 ? -1 : boot + ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// Returns the number in "pid:[4026531836]", or "" if it cannot be read.
std::string namespace_of(const fs::path& process) {
  std::error_code error;
  const std::string link = fs::read_symlink(process / "ns/pid", error).string();
  return link.size() > 6 ? link.substr(5, link.size() - 6) : "";
}

// Returns the pid of a process in its own, the innermost, namespace, or "" if it cannot be read.
std::string inner_pid(const fs::path& process) {
  std::istringstream status(files::system_text(process / "status"));
  std::string line;
  while (std::getline(status, line)) {
    if (line.rfind("NSpid:", 0) == 0) return line.substr(line.find_last_of(" \t") + 1);
  }
  return "";
}

// Returns this namespace's pid of a process in a namespace below it, or "" if no such process is visible.
std::string seen_from_here(const std::string& pids, const std::string& pid) {
  std::error_code error;
  for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
    std::string name = at->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (namespace_of(at->path()) == pids && inner_pid(at->path()) == pid) return name;
  }
  return "";
}

} // namespace

bool same_kernel(const trace::Facts& facts) {
  if (const auto boot = facts.note("boot")) return *boot == evidence::boot_id();
  char host[256] = {};
  const double boot = boot_time();
  return ::gethostname(host, sizeof host - 1) == 0 && facts.host == host && boot >= 0 &&
         static_cast<double>(facts.start_unix_ns) / 1e9 > boot;
}

std::string own_pids() {
  return namespace_of("/proc/self");
}

bool running(const trace::Facts& facts) {
  if (!facts.has_process || !same_kernel(facts)) return false;
  std::string pid = std::to_string(facts.pid);
  const auto pids = facts.note("pids");
  if (pids && *pids != own_pids()) pid = seen_from_here(*pids, pid);
  if (pid.empty()) return false;
  const double start = began(pid);
  // btime has whole seconds, and the trace begins later than its process.
  return start >= 0 && start <= static_cast<double>(facts.start_unix_ns) / 1e9 + 1.5;
}

} // namespace memtrace::report
