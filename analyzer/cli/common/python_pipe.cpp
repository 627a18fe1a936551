// Purpose: a module of the Python package memtrace that reads what this command writes.
#include "analyzer/cli/common/python_pipe.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "analyzer/cli/common/python_start.h"
#include "analyzer/job/usage_error.h"

namespace memtrace::cli {
namespace {

void close_end(int& end) {
  if (end >= 0) ::close(end);
  end = -1;
}

} // namespace

PythonPipe::PythonPipe(std::vector<std::string> words, const std::string& way_out) {
  const std::vector<char*> argv = prepare_python(words);
  ::signal(SIGPIPE, SIG_IGN); // write() reports a program that ended
  int in[2], out[2];
  if (::pipe2(in, O_CLOEXEC) != 0) throw report::UsageError(words.front() + ": " + std::strerror(errno));
  if (::pipe2(out, O_CLOEXEC) != 0) {
    const int error = errno;
    ::close(in[0]), ::close(in[1]);
    throw report::UsageError(words.front() + ": " + std::strerror(error));
  }
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  const int error = ::posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(in[0]), ::close(out[1]);
  in_ = in[1], out_ = out[0];
  if (error == 0) return;
  pid_ = -1;
  close_end(in_), close_end(out_);
  throw report::UsageError(words.front() + ": " + std::strerror(error) + "; " + way_out);
}

PythonPipe::~PythonPipe() {
  finish();
}

bool PythonPipe::write(std::string_view part) {
  while (!part.empty()) {
    const ssize_t written = ::write(in_, part.data(), part.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    part.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool PythonPipe::is_ready() {
  for (;;) {
    char one = 0;
    const ssize_t bytes = ::read(out_, &one, 1);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return false;
    if (one == '\n') return true;
  }
}

int PythonPipe::finish() {
  close_end(in_), close_end(out_);
  if (pid_ < 0) return 0;
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}

} // namespace memtrace::cli
