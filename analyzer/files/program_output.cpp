// Purpose: runs another program and reads what it prints.
#include "analyzer/files/program_output.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace memtrace::files {
namespace {

// Starts the program. Returns -1 if it cannot be started.
pid_t start(const std::vector<std::string>& command, int out) {
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  if (::posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ) != 0) pid = -1;
  ::posix_spawn_file_actions_destroy(&actions);
  return pid;
}

// Reads until the program closes its output. Returns false if that takes too long.
bool read_all(int from, std::chrono::milliseconds patience, std::string& text) {
  const auto until = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd ready{from, POLLIN, 0};
    const int seen = left.count() > 0 ? ::poll(&ready, 1, static_cast<int>(left.count())) : 0;
    if (seen < 0 && errno == EINTR) continue;
    if (seen <= 0) return false;
    char buffer[4096];
    const ssize_t bytes = ::read(from, buffer, sizeof buffer);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return true;
    text.append(buffer, static_cast<std::size_t>(bytes));
  }
}

} // namespace

ProgramOutput output_of(const std::vector<std::string>& command, std::chrono::milliseconds patience) {
  ProgramOutput out;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return out;
  const pid_t pid = start(command, ends[1]);
  ::close(ends[1]);
  if (pid > 0) {
    out.timed_out = !read_all(ends[0], patience, out.text);
    if (out.timed_out) ::kill(pid, SIGKILL);
    while (::waitpid(pid, &out.status, 0) < 0 && errno == EINTR) {
    }
  }
  ::close(ends[0]);
  return out;
}

} // namespace memtrace::files
