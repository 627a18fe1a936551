// Purpose: prints the recorder's lines on the program's standard error.
// Runs: on any thread, also on threads that glibc does not know.
#include "preload/os/standard_error.h"

#include <poll.h>
#include <sys/stat.h>

#include "preload/os/gate/raw_call.h"
#include "preload/os/gate/write_signals.h"

namespace memtrace::record::os {

namespace {

struct stat stderr_at_start {};
bool has_stderr = false;
bool looked = false;

} // namespace

void remember_stderr() {
  has_stderr = call(SYS_fstat, 2, word(&stderr_at_start)) == 0;
  looked = true;
}

bool say(const char* text, std::size_t bytes) {
  if (!looked) remember_stderr();
  struct stat now {};
  if (!has_stderr || call(SYS_fstat, 2, word(&now)) != 0 || now.st_dev != stderr_at_start.st_dev ||
      now.st_ino != stderr_at_start.st_ino)
    return false;
  pollfd ready{2, POLLOUT, 0};
  if (call(SYS_poll, word(&ready), 1, 0) != 1 || (ready.revents & POLLOUT) == 0) return false;
  const NoWriteSignal quiet;
  return call(SYS_write, 2, word(text), static_cast<long>(bytes)) > 0;
}

} // namespace memtrace::record::os
