// Room: hooks. At load time.
// Job: the constructor.
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include <cstring>

#include "preload/hooks/absent.h"
#include "preload/hooks/injection.h"
#include "preload/hooks/objects.h"
#include "preload/hooks/process.h"
#include "preload/hooks/python.h"
#include "preload/hooks/real.h"
#include "preload/hooks/sanitizer.h"
#include "preload/record/begin.h"
#include "preload/record/environment.h"
#include "preload/record/libc.h"
#include "preload/record/os_sandbox.h"
#include "preload/record/place.h"
#include "preload/record/recorder_state.h"
#include "preload/record/settings.h"
#include "preload/record/valgrind.h"

#include "preload/record/forbidden.h"

namespace {

void say_whose_malloc(const void* first, bool ours) {
  Dl_info where{};
  if (memtrace::hooks::malloc_is_valgrinds())
    memtrace::record::malloc_is_elsewhere("valgrind");
  else if (!ours && memtrace::record::libc.dladdr(first, &where) != 0 && where.dli_fname != nullptr)
    memtrace::record::malloc_is_elsewhere(where.dli_fname);
}

// `memtrace run` puts the runtime of a sanitizer before us, for that program alone: a child without that
// sanitizer would be judged by it, and end with its status. In place, for ASan starts its symbolizer with the
// environment that the kernel gave.
void keep_runtime_from_children() {
  namespace record = memtrace::record;
  const char* const runtime = record::environment_text("MEMTRACE_RUNTIME");
  auto* const list = const_cast<char*>(record::environment_text("LD_PRELOAD"));
  if (runtime == nullptr || list == nullptr) return;
  const std::size_t bytes = std::strlen(runtime);
  if (std::strncmp(list, runtime, bytes) != 0 || list[bytes] != ':') return;
  std::memmove(list, list + bytes + 1, std::strlen(list + bytes + 1) + 1);
}

__attribute__((constructor)) void start() {
  const int errno_before = errno;
  memtrace::record::find_valgrind();
  const memtrace::record::Unjudged unjudged;
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
  void* const first = dlsym(RTLD_DEFAULT, "malloc");
  bool ours = first == reinterpret_cast<void*>(&malloc);
  if (!ours || memtrace::hooks::next_function("__lsan_init") != nullptr)
    memtrace::hooks::hide_globals_from_leak_checkers();
  if (!ours) ours = memtrace::hooks::blocks_come_from_sanitizer();
  say_whose_malloc(first, ours);
  // An allocator before us calls our mmap with its locks held, and libunwind allocates a thread's first time.
  memtrace::record::start_life(ours);
  if (memtrace::record::active() && cuda) memtrace::hooks::offer_injection();
  if (memtrace::record::active()) {
    const char* const phases = memtrace::record::environment("MEMTRACE_PHASES");
    memtrace::hooks::python_start(phases != nullptr ? phases : "auto");
  }
  keep_runtime_from_children();
  errno = errno_before;
}

} // namespace
