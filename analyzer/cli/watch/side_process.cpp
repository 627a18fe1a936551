// Purpose: the process beside a traced program that watches its memory. It ends with `memtrace run`.
#include "analyzer/cli/watch/side_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

#include "analyzer/wording/utf8.h"

namespace memtrace::cli {
namespace {

constexpr int kWaitStepMs = 10;
constexpr int kSidePatienceMs = 35'000; // longer than the side process waits for the command

// Signals of a terminal, or to the process group, are for the program. This process ends with memtrace run.
void ignore_signals() {
  for (const int number : {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE})
    ::signal(number, SIG_IGN);
}

[[noreturn]] void watch_job(const WatchArguments& arguments, const WatchedJob& job, int until) {
  ignore_signals();
  try {
    JobWatch(arguments, job).run(until);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "memtrace: run: the limits are not watched any more: %s\n",
                 report::printable(error.what()).c_str());
  }
  std::fflush(stderr);
  ::_exit(0);
}

} // namespace

SideProcess::SideProcess(const WatchArguments& arguments, const WatchedJob& job) {
  if (!arguments.watches()) return;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) == 0) {
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[1]);
      watch_job(arguments, job, ends[0]);
    }
    const int why = errno;
    ::close(ends[0]);
    until_ = ends[1];
    errno = why;
    if (pid_ > 0) return;
  }
  std::fprintf(stderr, "memtrace: run: the limits are not watched: %s\n", std::strerror(errno));
}

SideProcess::~SideProcess() {
  if (until_ >= 0) ::close(until_);
  if (pid_ <= 0) return;
  for (int waited = 0; waited < kSidePatienceMs; waited += kWaitStepMs) {
    if (::waitpid(pid_, nullptr, WNOHANG) != 0) return;
    ::poll(nullptr, 0, kWaitStepMs);
  }
  ::kill(pid_, SIGKILL); // it hangs
  ::waitpid(pid_, nullptr, 0);
}

} // namespace memtrace::cli
