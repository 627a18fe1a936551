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
#include "record/libc.h"
#include "record/life.h"
#include "record/recorder.h"
#include "record/settings.h"
#include "record/valgrind.h"

#include "record/forbidden.h"

namespace {

void say_whose_malloc(const void* first, bool ours) {
  Dl_info where{};
  if (memtrace::hooks::malloc_is_valgrinds())
    memtrace::record::malloc_is_elsewhere("valgrind");
  else if (!ours && memtrace::record::libc.dladdr(first, &where) != 0 && where.dli_fname != nullptr)
    memtrace::record::malloc_is_elsewhere(where.dli_fname);
}

__attribute__((constructor)) void start() {
  const int errno_before = errno;
  memtrace::record::find_valgrind();
  const memtrace::record::Unjudged unjudged;
  memtrace::hooks::find_real();
  memtrace::hooks::process_start();
  const char* const cupti = memtrace::record::environment("MEMTRACE_CUPTI");
  const bool cuda = (cupti != nullptr && std::strcmp(cupti, "on") == 0) || memtrace::hooks::cuda_is_there();
  memtrace::hooks::hide_absent(cuda);
  void* const first = dlsym(RTLD_DEFAULT, "malloc");
  const bool ours = first == reinterpret_cast<void*>(&malloc);
  say_whose_malloc(first, ours);
  // An allocator before us calls our mmap with its locks held, and libunwind allocates a thread's first time.
  memtrace::record::start_life(ours);
  if (memtrace::record::active() && cuda) memtrace::hooks::offer_injection();
  if (memtrace::record::active()) {
    const char* const phases = memtrace::record::environment("MEMTRACE_PHASES");
    memtrace::hooks::python_start(phases != nullptr ? phases : "auto");
  }
  errno = errno_before;
}

} // namespace
