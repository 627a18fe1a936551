// Purpose: observes from outside how the processes of a job end, and records it beside their traces.
#include "analyzer/cli/run/process_watcher.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>

#include "analyzer/evidence/evidence.h"
#include "analyzer/evidence/watched_ends.h"
#include "analyzer/files/writing.h"

namespace memtrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kPauseMs = 100;

// From linux/pidfd.h, which older systems lack.
struct PidInfo {
  std::uint64_t mask;
  std::uint64_t group;
  std::uint32_t ids[11];
  std::int32_t status;
};
static_assert(sizeof(PidInfo) == 64);
constexpr std::uint64_t kExit = 8; // PIDFD_INFO_EXIT: requested, and set after the process was reaped
constexpr unsigned long kGetInfo = _IOWR(0xFF, 11, PidInfo);

int pidfd_of(pid_t pid) {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}

std::optional<int> status_of(int fd) {
  PidInfo info{};
  info.mask = kExit;
  if (::ioctl(fd, kGetInfo, &info) != 0 || (info.mask & kExit) == 0) return std::nullopt;
  return info.status;
}

} // namespace

Watch::Watch(JobPlace place, pid_t child, std::uint64_t since)
    : place_(std::move(place)), child_(child), child_fd_(pidfd_of(child)), since_(since) {}

Watch::~Watch() {
  for (const auto& [pid, process] : processes_)
    if (process.fd >= 0) ::close(process.fd);
  if (child_fd_ >= 0) ::close(child_fd_);
}

void Watch::look() {
  std::vector<pollfd> waiting;
  if (child_fd_ >= 0) waiting.push_back({child_fd_, POLLIN, 0});
  for (const auto& [pid, process] : processes_)
    // the kernel reports POLLHUP, which is never requested, after the reaping
    if (process.fd >= 0) waiting.push_back({process.fd, 0, 0});
  ::poll(waiting.data(), waiting.size(), kPauseMs);
  find();
  collect();
}

// A process with a trace may get another, after an exec. If its end is already written, the pid was reused by a
// new process.
void Watch::find() {
  for (report::TraceName& name : traces_since(place_, since_)) {
    if (!traces_.insert(name.path).second) continue;
    WatchedProcess& process = processes_[name.pid];
    if (process.written) process = {};
    process.stem = name.stem;
    process.path = name.path;
    if (process.fd < 0 && name.pid != child_) process.fd = pidfd_of(name.pid);
  }
}

void Watch::collect() {
  for (auto& [pid, process] : processes_) {
    if (process.fd < 0) continue;
    if (const auto status = status_of(process.fd)) write(pid, process, *status, "pidfd");
  }
}

void Watch::write(pid_t pid, WatchedProcess& process, int status, const char* seen) {
  if (process.fd >= 0) ::close(process.fd);
  process.fd = -1;
  process.written = true;
  process.signal = WIFSIGNALED(status);
  evidence::End end;
  end.host = place_.host;
  end.pid = static_cast<std::uint64_t>(pid);
  end.trace = process.stem;
  end.signal = process.signal;
  end.code = end.signal ? WTERMSIG(status) : WEXITSTATUS(status);
  end.dumped = end.signal && WCOREDUMP(status);
  end.unix = evidence::unix_now();
  end.seen = seen;
  const fs::path file = fs::path(process.path).parent_path() /
                        fmt::format("{}-{}-{:016x}{}", place_.host, ::getpid(), since_, evidence::kEndsSuffix);
  files::append(file, evidence::line_of(end));
}

// If the command left no trace (a shell), its end is recorded beside the traces of its children.
void Watch::child_ended(int status) {
  if (child_fd_ >= 0) ::close(child_fd_);
  child_fd_ = -1;
  find();
  collect();
  if (traces_.empty()) return;
  WatchedProcess& process = processes_[child_];
  if (process.path.empty()) process.path = *traces_.begin();
  write(child_, process, status, "wait");
}

std::vector<std::string> Watch::traces() const {
  return {traces_.begin(), traces_.end()};
}

bool Watch::all_ended() const {
  return std::all_of(processes_.begin(), processes_.end(), [](const auto& at) { return at.second.fd < 0; });
}

// Older kernels do not report the end of a process. If such a process is gone and left its rings, it was
// killed.
bool Watch::somebody_was_killed() const {
  return std::any_of(processes_.begin(), processes_.end(), [](const auto& at) {
    const WatchedProcess& process = at.second;
    if (process.written) return process.signal;
    std::error_code error;
    return ::kill(at.first, 0) != 0 && errno == ESRCH &&
           fs::exists(fs::path(process.path).replace_extension(".rings"), error);
  });
}

} // namespace memtrace::cli
