// Room: hooks. At load time.
// Job: the constructor.
#include <errno.h>

#include <cstdlib>

#include "hooks/process.h"
#include "hooks/python.h"
#include "hooks/real.h"
#include "record/life.h"
#include "record/recorder.h"
#include "record/settings.h"

namespace {

__attribute__((constructor)) void start() {
  const int errno_before = errno;
  memtrace::hooks::find_real();
  memtrace::hooks::process_start();
  memtrace::record::start_life();
  if (memtrace::record::active()) {
    const char* const phases = std::getenv("MEMTRACE_PHASES");
    memtrace::hooks::python_start(phases != nullptr ? phases : "auto");
  }
  errno = errno_before;
}

} // namespace
