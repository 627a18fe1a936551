// Purpose: gets separate debug information from the servers of DEBUGINFOD_URLS.
#include "analyzer/symbols/debuginfod.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace memtrace::symbols {
namespace {

constexpr std::size_t kLongestPath = 4096;

std::string hexadecimal(std::span<const unsigned char> bytes) {
  std::string out;
  for (const unsigned char byte : bytes) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

[[noreturn]] void become_client(const std::string& build_id, int out) {
  ::dup2(out, STDOUT_FILENO);
  const int nowhere = ::open("/dev/null", O_WRONLY); // its errors: "Server query failed"
  if (nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
  ::execlp("debuginfod-find", "debuginfod-find", "debuginfo", build_id.c_str(), nullptr);
  ::_exit(127);
}

std::string read_line(int fd) {
  std::string line(kLongestPath, '\0');
  std::size_t bytes = 0;
  while (bytes < line.size()) {
    const ssize_t got = ::read(fd, line.data() + bytes, line.size() - bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    bytes += static_cast<std::size_t>(got);
  }
  line.resize(bytes);
  return line.substr(0, line.find('\n'));
}

} // namespace

std::string downloaded_debuginfo(std::span<const unsigned char> build_id) {
  const std::string id = hexadecimal(build_id);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  const pid_t pid = ::fork();
  if (pid == 0) become_client(id, ends[1]);
  ::close(ends[1]);
  const std::string path = pid > 0 ? read_line(ends[0]) : "";
  ::close(ends[0]);
  int status = 1;
  while (pid > 0 && ::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0 ? path : "";
}

} // namespace memtrace::symbols
