// Purpose: checks whether the driver, CUPTI and NVML work. libmemtrace_cupti.so probes them in a separate
// process.
#include "analyzer/cli/doctor/device_check.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "analyzer/cli/common/install_paths.h"

namespace memtrace::cli {
namespace {

constexpr char kLibrary[] = "libmemtrace_cupti.so";
constexpr auto kPatience = std::chrono::seconds(30); // a GPU in a low-power state takes some seconds to wake

// The dynamic loader of each x86-64 system with glibc. The library is a program that it runs (cupti/entry.cpp).
constexpr char kDynamicLoader[] = "/lib64/ld-linux-x86-64.so.2";

[[noreturn]] void probe(const std::string& path, int out) {
  ::dup2(out, STDOUT_FILENO);
  const int nowhere = ::open("/dev/null", O_WRONLY); // what CUDA prints is no line of the probe
  if (nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
  ::execl(kDynamicLoader, kDynamicLoader, path.c_str(), nullptr);
  ::_exit(127);
}

std::string read_all(int from, pid_t pid) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  std::string text;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd ready{from, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) == 0) {
      ::kill(pid, SIGKILL);
      return text;
    }
    char buffer[4096];
    const ssize_t bytes = ::read(from, buffer, sizeof buffer);
    if (bytes <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(bytes));
  }
}

std::vector<Check> parse(const std::string& text) {
  std::vector<Check> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size()), tab = text.find('\t', at);
    if (tab < end)
      out.push_back({text.substr(at + 1, tab - at - 1), text[at] == '1', text.substr(tab + 1, end - tab - 1)});
    at = end + 1;
  }
  return out;
}

} // namespace

std::vector<Check> check_devices() {
  const std::string path = installed_library(kLibrary);
  if (path.empty())
    return {
        {"CUPTI", false,
         fmt::format("{} is not built: CUPTI's headers were missing then; device memory is seen by hooks alone",
                     kLibrary)}};
  int pipe[2];
  if (::pipe(pipe) != 0) return {{"CUPTI", false, "cannot be asked: no pipe"}};
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(pipe[0]);
    probe(path, pipe[1]);
  }
  ::close(pipe[1]);
  std::vector<Check> out = parse(pid > 0 ? read_all(pipe[0], pid) : std::string());
  ::close(pipe[0]);
  int status = 0;
  if (pid > 0) ::waitpid(pid, &status, 0);
  if (pid < 0 || !WIFEXITED(status)) {
    const bool hung = pid > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    out.push_back(
        {"device", false,
         hung ? "the driver did not answer within 30 s" : "asking the driver ended the process that asked"});
  }
  if (out.empty()) out.push_back({"CUPTI", false, fmt::format("{} cannot run {}", kDynamicLoader, path)});
  return out;
}

} // namespace memtrace::cli
