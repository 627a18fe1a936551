// Purpose: `memtrace run`: starts a command under the preload object and returns its exit status.
#include "analyzer/cli/run/run_command.h"

#include <fcntl.h> // for O_CLOEXEC of pipe2
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <thread>

#include "analyzer/cli/commands/pack_command.h"
#include "analyzer/cli/commands/postmortem_command.h"
#include "analyzer/cli/common/output.h"
#include "analyzer/cli/common/screen.h"
#include "analyzer/cli/run/executable.h"
#include "analyzer/cli/run/job_directory.h"
#include "analyzer/cli/run/nothing_recorded.h"
#include "analyzer/cli/run/preload_object.h"
#include "analyzer/cli/run/process_watcher.h"
#include "analyzer/cli/run/sanitizer_runtime.h"
#include "analyzer/cli/run/traces_left.h"
#include "analyzer/cli/watch/side_process.h"
#include "analyzer/files/writing.h"
#include "analyzer/job/usage_error.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kMomentLooks = 5;
constexpr auto kMostMoving = std::chrono::seconds(60);
constexpr auto kMovingLook = std::chrono::milliseconds(10);

constexpr int kPassedOn[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH, SIGCONT};

volatile sig_atomic_t child = 0;
volatile sig_atomic_t interrupted = 0;

// Forwards a signal to the command. A terminal sends its signals to the command directly: the kernel sent those
// (si_code > 0), so they are not forwarded.
void pass_on(int number, siginfo_t* info, void*) {
  const int keep = errno;
  if (number == SIGINT || number == SIGQUIT || number == SIGTERM || number == SIGHUP) interrupted = 1;
  if (child > 0 && info->si_code <= 0) ::kill(static_cast<pid_t>(child), number);
  errno = keep;
}

// Returns the value of LD_PRELOAD without `object`.
std::string preloaded_besides(const std::string& object) {
  const char* const value = std::getenv("LD_PRELOAD");
  return value != nullptr ? without_object(object, value) : "";
}

void set_environment(const RunArguments& arguments, const std::string& object) {
  for (const auto& [name, value] : arguments.variables) ::setenv(name.c_str(), value.c_str(), 1);
  const std::string loader = executable_of(arguments.command.front()).loader;
  if (is_musl(loader)) { // else it would end with "Error relocating" and status 127
    std::fprintf(stderr,
                 "memtrace: run: %s is not traced: its loader is musl's (%s), and memtrace needs glibc\n",
                 report::printable(arguments.command.front()).c_str(), report::printable(loader).c_str());
    return;
  }
  const char* before = std::getenv("LD_PRELOAD");
  const std::string others = before != nullptr && *before != '\0' ? std::string(":") + before : "";
  const std::string runtime = sanitizer_runtime(arguments.command.front());
  if (runtime.empty()) {
    ::setenv("LD_PRELOAD", (object + others).c_str(), 1);
    return;
  }
  // ASan ends a program if another object precedes its runtime, so the runtime comes first. The children
  // inherit only memtrace (preload/hooks/constructor.cpp). A child with ASan must accept that order, hence
  // verify_asan_link_order=0.
  ::setenv("LD_PRELOAD", (runtime + ":" + object + others).c_str(), 1);
  ::setenv("MEMTRACE_RUNTIME", runtime.c_str(), 1);
  const char* const options = std::getenv("ASAN_OPTIONS");
  const std::string kept = options != nullptr && *options != '\0' ? std::string(options) + ":" : "";
  ::setenv("ASAN_OPTIONS", (kept + "verify_asan_link_order=0").c_str(), 1);
}

[[noreturn]] void become(const RunArguments& arguments, int tell) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments.command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  const int error = errno;
  const ssize_t told = ::write(tell, &error, sizeof error);
  ::_exit(told > 0 && error == ENOENT ? 127 : 126);
}

// Returns the wait status of the command. Watches its memory until then, if `arguments` say so.
int wait_for(pid_t pid, Watch& watch, const WatchArguments& arguments, const WatchedJob& job) {
  const SideProcess beside(arguments, job);
  int status = 0;
  for (;;) {
    const pid_t ended = ::waitpid(pid, &status, WNOHANG);
    if (ended == pid) break;
    if (ended < 0 && errno != EINTR) return W_EXITCODE(1, 0);
    watch.look();
  }
  watch.child_ended(status);
  // The processes that die with the command take a moment. A daemon lives on; memtrace does not wait for it.
  for (int i = 0; i < kMomentLooks && WIFSIGNALED(status) && !watch.all_ended(); ++i) watch.look();
  return status;
}

// Does work after the command has ended. A separate process does it, which the kernel kills first if memory is
// still short. Otherwise the command's status could be lost. If `work` throws, prints `failure` and the reason.
// Returns its pid.
template <class Work>
pid_t begin_apart(const char* failure, Work work) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    files::write_system("/proc/self/oom_score_adj", "1000");
    int status = 0;
    try {
      work();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "memtrace: run: %s: %s\n", failure, report::printable(error.what()).c_str());
      status = 1;
    }
    std::fflush(stderr);
    ::_exit(status);
  }
  return pid;
}

template <class Work>
void do_apart(const char* failure, Work work) {
  const pid_t pid = begin_apart(failure, work);
  while (pid > 0 && ::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// Prints on stderr which process was killed for memory.
void explain_kill(const Watch& watch) {
  const std::vector<std::string> traces = watch.traces();
  do_apart("no post-mortem", [&] {
    if (const auto text = postmortem_of_kill(traces, screen_of(STDERR_FILENO)))
      std::fputs(text->c_str(), stderr);
  });
}

void pack(const JobPlace& place, std::uint64_t since, const RunArguments& arguments) {
  const std::string& output = arguments.pack;
  if (output.empty()) return;
  const std::vector<report::TraceName> traces = traces_and_copies_since(place, since);
  std::vector<std::string> paths;
  paths.reserve(traces.size());
  for (const report::TraceName& trace : traces) paths.push_back(trace.path);
  do_apart("not packed", [&] {
    if (paths.empty()) throw report::UsageError(output + ": nothing was recorded");
    try {
      const report::PackedJob packed = pack_traces(paths, output);
      if (arguments.only_packed && !place.shared) remove_packed_traces(packed, output, traces);
    } catch (const std::exception& error) {
      const std::filesystem::path directory = std::filesystem::path(paths.front()).parent_path();
      throw std::runtime_error(error.what() + ("; the traces are in " + directory.string()));
    }
  });
}

// The shared file system may hang, so this waits kMostMoving at most.
void move_to_shared(const JobPlace& place, std::uint64_t since) {
  if (!has_traces_left(place, since)) return;
  const pid_t pid = begin_apart("not copied", [&] { move_traces_left(place, since); });
  const auto until = std::chrono::steady_clock::now() + kMostMoving;
  while (pid > 0 && ::waitpid(pid, nullptr, WNOHANG) == 0) {
    std::this_thread::sleep_for(kMovingLook);
    if (std::chrono::steady_clock::now() < until) continue;
    ::kill(pid, SIGKILL);
    std::fprintf(stderr,
                 "memtrace: run: not copied: %s does not answer; the next process of the job on this host "
                 "copies the traces\n",
                 report::printable(place.requested).c_str());
    return;
  }
}

void say_that_nothing_was_recorded(const std::string& program) {
  const std::string why = why_nothing_was_recorded(program);
  if (!why.empty()) std::fprintf(stderr, "memtrace: run: nothing was recorded: %s\n", why.c_str());
}

bool is_on(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

std::uint64_t unix_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
}

} // namespace

int run_command(const RunArguments& arguments) {
  // Known before the program starts: it may run for days.
  if (!arguments.pack.empty()) check_packed_file(arguments.pack);
  const std::string object = preload_object();
  const std::string others = preloaded_besides(object);
  set_environment(arguments, object);
  int failed[2];
  if (::pipe2(failed, O_CLOEXEC) != 0)
    throw report::UsageError(std::string("run: no pipe: ") + std::strerror(errno));
  // Installs the handlers before the command starts: else a signal in between would end memtrace and leave the
  // command alone.
  struct sigaction action {};
  action.sa_sigaction = pass_on;
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  sigset_t passed_on;
  sigset_t before;
  sigemptyset(&passed_on);
  for (const int number : kPassedOn) sigaddset(&passed_on, number);
  ::sigprocmask(SIG_BLOCK, &passed_on, &before);
  const std::uint64_t began = unix_ns();
  const pid_t pid = ::fork();
  if (pid < 0) throw report::UsageError(std::string("run: cannot start a process: ") + std::strerror(errno));
  const JobPlace place = job_place(began / 1'000'000'000, pid == 0 ? ::getpid() : pid);
  if (pid == 0) {
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    ::setenv("MEMTRACE_RUN", place.job.c_str(), 1);
    become(arguments, failed[1]);
  }
  child = static_cast<sig_atomic_t>(pid);
  // A signal that was ignored at the start (nohup) stays ignored, as it is for the command.
  for (const int number : kPassedOn) {
    struct sigaction inherited {};
    ::sigaction(number, nullptr, &inherited);
    if (inherited.sa_handler != SIG_IGN) ::sigaction(number, &action, nullptr);
  }
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  ::close(failed[1]);
  int error = 0;
  const bool never_began = ::read(failed[0], &error, sizeof error) == static_cast<ssize_t>(sizeof error);
  ::close(failed[0]);
  Watch watch(place, pid, began);
  const WatchedJob job{pid, [&] { return traces_since(place, began); }, others, is_on("MEMTRACE_QUIET")};
  const int status = wait_for(pid, watch, never_began ? WatchArguments{} : arguments.watch, job);
  if (never_began) {
    std::fprintf(stderr, "memtrace: run: %s: %s; nothing was started\n",
                 report::printable(arguments.command.front()).c_str(), std::strerror(error));
  } else if (!is_on("MEMTRACE_QUIET") && interrupted == 0) {
    if (watch.somebody_was_killed() || WIFSIGNALED(status) || WEXITSTATUS(status) != 0) explain_kill(watch);
    if (traces_and_copies_since(place, began).empty()) say_that_nothing_was_recorded(arguments.command.front());
  }
  if (!never_began) pack(place, began, arguments);
  move_to_shared(place, began);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

} // namespace memtrace::cli
