// Purpose: the constructor.
// Runs: at load time.
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include <cstring>

#include "preload/hooks/absent_symbols.h"
#include "preload/hooks/cuda/device_library.h"
#include "preload/hooks/libc/process_calls.h"
#include "preload/hooks/libc/sanitizer.h"
#include "preload/hooks/python/interpreter_startup.h"
#include "preload/hooks/symbols/loaded_objects.h"
#include "preload/hooks/symbols/real_functions.h"
#include "preload/job/job_directory.h"
#include "preload/os/environ.h"
#include "preload/os/libc/elf_tables.h"
#include "preload/os/libc/libc_table.h"
#include "preload/os/libc/valgrind.h"
#include "preload/os/sandbox.h"
#include "preload/process/begin.h"
#include "preload/state/recorder_state.h"
#include "preload/state/settings.h"

#include "preload/os/gate/forbidden.h"

namespace {

void say_whose_malloc(const void* first, bool ours) {
  Dl_info where{};
  if (memtrace::hooks::malloc_is_valgrinds())
    memtrace::record::malloc_is_elsewhere("valgrind");
  else if (!ours && memtrace::record::libc.dladdr(first, &where) != 0 && where.dli_fname != nullptr)
    memtrace::record::malloc_is_elsewhere(where.dli_fname);
}

// `memtrace run` puts a sanitizer's runtime into LD_PRELOAD, before memtrace, for one program. A child without
// that sanitizer would load it too, and exit with its status. The text is edited in place, because ASan starts
// its symbolizer with the environment that the kernel passed.
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
  // In a sandbox only those system calls are made that the loader has made too: the allow-list may contain no
  // others.
  if (memtrace::record::starts_in_a_sandbox()) {
    memtrace::hooks::hide_absent(false);
    memtrace::record::os::never_call();
    errno = errno_before;
    return;
  }
  const char* const cupti = memtrace::record::environment("MEMTRACE_CUPTI");
  const bool cuda = (cupti != nullptr && std::strcmp(cupti, "on") == 0) || memtrace::hooks::cuda_is_there();
  memtrace::hooks::hide_absent(cuda);
  // Not by dlsym. If an executable at a fixed address takes the address of malloc, dlsym returns its stub
  // (Debian 11's python3).
  void* const first = memtrace::record::function_from(memtrace::record::first_object(), "malloc");
  bool ours = first == reinterpret_cast<void*>(&malloc);
  if (!ours || memtrace::hooks::next_function("__lsan_init") != nullptr)
    memtrace::hooks::hide_globals_from_leak_checkers();
  if (!ours) ours = memtrace::hooks::blocks_come_from_sanitizer();
  say_whose_malloc(first, ours);
  // An allocator before memtrace calls memtrace's mmap with its locks held, so no native stack is taken then.
  memtrace::record::start_life(ours);
  if (memtrace::record::active() && cuda) memtrace::hooks::offer_device_library();
  if (memtrace::record::active()) {
    const char* const phases = memtrace::record::environment("MEMTRACE_PHASES");
    memtrace::hooks::python_start(phases != nullptr ? phases : "auto");
  }
  keep_runtime_from_children();
  errno = errno_before;
}

} // namespace
