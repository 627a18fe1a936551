// Purpose: runs the command of --on-near-limit beside the job, at most one at a time.
#include "analyzer/cli/watch/near_limit_command.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "analyzer/files/writing.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::cli {
namespace {

constexpr int kStepMs = 20;
constexpr std::size_t kShown = 80; // columns of the command in a line

[[noreturn]] void become_shell(const std::string& text, const std::string& preload,
                               const NearLimitCommand::Variables& variables) {
  files::write_system("/proc/self/oom_score_adj", "1000");
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  if (std::freopen("/dev/null", "r", stdin) == nullptr) ::close(STDIN_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  if (preload.empty()) {
    ::unsetenv("LD_PRELOAD");
  } else {
    ::setenv("LD_PRELOAD", preload.c_str(), 1);
  }
  ::execl("/bin/sh", "sh", "-c", text.c_str(), static_cast<char*>(nullptr));
  ::_exit(127);
}

} // namespace

void NearLimitCommand::start(const Variables& variables) {
  if (text_.empty() || is_running()) return;
  const pid_t pid = ::fork();
  if (pid == 0) become_shell(text_, preload_, variables);
  if (pid < 0) {
    std::fprintf(stderr, "memtrace: run: --on-near-limit: cannot start a process: %s\n", std::strerror(errno));
    return;
  }
  pid_ = pid;
}

void NearLimitCommand::ended(int status) {
  pid_ = 0;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  const std::string how = WIFSIGNALED(status)
                              ? "ended by " + report::signal_name(static_cast<std::uint32_t>(WTERMSIG(status)))
                              : "exit status " + std::to_string(WEXITSTATUS(status));
  std::fprintf(stderr, "memtrace: run: --on-near-limit: %s: %s\n", how.c_str(),
               report::shortened(report::printable(text_), kShown).c_str());
}

void NearLimitCommand::reap() {
  int status = 0;
  if (is_running() && ::waitpid(pid_, &status, WNOHANG) == pid_) ended(status);
}

void NearLimitCommand::wait_at_most(int ms) {
  for (int waited = 0; waited < ms; waited += kStepMs) {
    reap();
    if (!is_running()) return;
    ::poll(nullptr, 0, kStepMs);
  }
  std::fprintf(stderr, "memtrace: run: --on-near-limit: still runs after the program's end (pid %d): %s\n",
               static_cast<int>(pid_), report::shortened(report::printable(text_), kShown).c_str());
}

} // namespace memtrace::cli
