// Room: cli.
// Job: `memtrace run`: start a command under the preload object and end as it ends.
#include "cli/run_command.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/usage.h"

namespace memtrace::cli {
namespace {

namespace fs = std::filesystem;

// Passed on to the command. A terminal sends SIGINT and SIGQUIT to it by itself: these are only survived.
constexpr int kPassedOn[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT};
constexpr int kSurvived[] = {SIGINT, SIGQUIT};

volatile sig_atomic_t child = 0;

void pass_on(int number) {
  const int keep = errno;
  if (child > 0) ::kill(static_cast<pid_t>(child), number);
  errno = keep;
}

// Installed: bin/memtrace and lib/libmemtrace.so. In a build tree: analyzer/memtrace and
// preload/libmemtrace.so.
std::string preload_object() {
  std::error_code error;
  const fs::path directory = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"../lib/libmemtrace.so", "../preload/libmemtrace.so"}) {
    const fs::path object = (directory / place).lexically_normal();
    if (fs::exists(object, error)) return object.string();
  }
  throw Usage((directory / "../lib/libmemtrace.so").lexically_normal().string() +
              ": not there; install memtrace with cmake --install");
}

void set_environment(const RunArguments& arguments, const std::string& object) {
  for (const auto& [name, value] : arguments.variables) ::setenv(name.c_str(), value.c_str(), 1);
  const char* before = std::getenv("LD_PRELOAD");
  const std::string others = before != nullptr && *before != '\0' ? std::string(":") + before : "";
  ::setenv("LD_PRELOAD", (object + others).c_str(), 1);
}

[[noreturn]] void become(const RunArguments& arguments, int tell) {
  for (const int number : kSurvived) ::signal(number, SIG_DFL);
  std::vector<char*> argv;
  for (const std::string& argument : arguments.command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  const int error = errno;
  const ssize_t told = ::write(tell, &error, sizeof error);
  ::_exit(told > 0 && error == ENOENT ? 127 : 126);
}

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) return 1;
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

} // namespace

int run_command(const RunArguments& arguments) {
  const std::string object = preload_object();
  int failed[2];
  if (::pipe2(failed, O_CLOEXEC) != 0) throw Usage(std::string("run: no pipe: ") + std::strerror(errno));
  // Handlers before the command exists: a signal in between must not end us and leave it alone.
  struct sigaction action {};
  action.sa_handler = pass_on;
  action.sa_flags = SA_RESTART;
  sigset_t passed_on;
  sigset_t before;
  sigemptyset(&passed_on);
  for (const int number : kPassedOn) sigaddset(&passed_on, number);
  ::sigprocmask(SIG_BLOCK, &passed_on, &before);
  const pid_t pid = ::fork();
  if (pid < 0) throw Usage(std::string("run: cannot start a process: ") + std::strerror(errno));
  if (pid == 0) {
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    set_environment(arguments, object);
    become(arguments, failed[1]);
  }
  child = static_cast<sig_atomic_t>(pid);
  for (const int number : kPassedOn) ::sigaction(number, &action, nullptr);
  for (const int number : kSurvived) ::signal(number, SIG_IGN);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  ::close(failed[1]);
  int error = 0;
  const bool never_began = ::read(failed[0], &error, sizeof error) == static_cast<ssize_t>(sizeof error);
  ::close(failed[0]);
  const int status = wait_for(pid);
  if (never_began) {
    std::fprintf(stderr, "memtrace: run: %s: %s; nothing was started\n", arguments.command.front().c_str(),
                 std::strerror(error));
  }
  return status;
}

} // namespace memtrace::cli
