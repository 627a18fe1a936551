// Room: hooks. At load time.
// Job: the constructor.
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include <cstring>

#include "hooks/absent.h"
#include "hooks/injection.h"
#include "hooks/process.h"
#include "hooks/python.h"
#include "hooks/real.h"
#include "record/environment.h"
#include "record/life.h"
#include "record/os_gate.h"
#include "record/place.h"
#include "record/recorder.h"
#include "record/settings.h"

#include "record/forbidden.h"

namespace {

__attribute__((constructor)) void start() {
  const int errno_before = errno;
  memtrace::hooks::find_real();
  memtrace::hooks::process_start();
  // Only what the loader did as well, for a list that the program's starter made may allow no more.
  if (memtrace::record::starts_in_a_sandbox()) {
    memtrace::hooks::hide_absent(false);
    memtrace::record::os::never_call();
    errno = errno_before;
    return;
  }
  const char* const cupti = memtrace::record::environment("MEMTRACE_CUPTI");
  const bool cuda = (cupti != nullptr && std::strcmp(cupti, "on") == 0) || memtrace::hooks::cuda_is_there();
  memtrace::hooks::hide_absent(cuda);
  // An allocator before us calls our mmap with its locks held, and libunwind allocates a thread's first time.
  memtrace::record::start_life(dlsym(RTLD_DEFAULT, "malloc") == reinterpret_cast<void*>(&malloc));
  if (memtrace::record::active() && cuda) memtrace::hooks::offer_injection();
  if (memtrace::record::active()) {
    const char* const phases = memtrace::record::environment("MEMTRACE_PHASES");
    memtrace::hooks::python_start(phases != nullptr ? phases : "auto");
  }
  errno = errno_before;
}

} // namespace
