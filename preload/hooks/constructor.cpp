// Purpose: the constructor, and the start of the recorder.
// Runs: at load time, or at the first event of the process.
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include <cstring>

#include "preload/device/device_blocks.h"
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
#include "preload/process/arming.h"
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
  const char* const runtime = record::start_environment("MEMTRACE_RUNTIME");
  auto* const list = const_cast<char*>(record::environment("LD_PRELOAD"));
  if (runtime == nullptr || *runtime == '\0' || list == nullptr) return;
  const std::size_t bytes = std::strlen(runtime);
  if (std::strncmp(list, runtime, bytes) != 0 || list[bytes] != ':') return;
  std::memmove(list, list + bytes + 1, std::strlen(list + bytes + 1) + 1);
}

// Of glibc's malloc, or of another allocator that comes before memtrace. Not by dlsym. If an executable at a
// fixed address takes the address of malloc, dlsym returns its stub (Debian 11's python3).
void* first_malloc() {
  return memtrace::record::function_from(memtrace::record::first_object(), "malloc");
}
bool malloc_is_ours() {
  return first_malloc() == reinterpret_cast<void*>(&malloc);
}

// True if the list of build tools, which is the default of MEMTRACE_SKIP, excludes this program.
bool is_build_tool() {
  for (const char* name : {"MEMTRACE", "MEMTRACE_ONLY", "MEMTRACE_SKIP"})
    if (memtrace::record::start_environment(name) != nullptr) return false;
  return true;
}

// The program calls the real functions of CUDA, if there are any, without memtrace's. But a weak reference may
// be bound to memtrace's. A build tool loads nothing that tests for CUDA, and its dlsym knows which names are
// absent.
void leave_program() {
  const bool tests_names = memtrace::hooks::has_weak_references_to_absent();
  if (tests_names || !is_build_tool())
    memtrace::hooks::hide_absent(tests_names && memtrace::hooks::cuda_is_there());
  memtrace::hooks::pass_through();
  memtrace::record::count_filters();
}

bool finds_cuda() {
  const char* const cupti = memtrace::record::start_environment("MEMTRACE_CUPTI");
  return (cupti != nullptr && std::strcmp(cupti, "on") == 0) || memtrace::hooks::cuda_is_there();
}

// Does what a process that was armed left out until it was called.
void begin_late() {
  memtrace::record::announce_held_devices();
  memtrace::hooks::python_start_late();
}

void start_recorder() {
  const memtrace::record::Unjudged unjudged;
  // In a sandbox only those system calls are made that the loader has made too: the allow-list may contain no
  // others.
  if (memtrace::record::starts_in_a_sandbox()) {
    memtrace::hooks::hide_absent(false);
    memtrace::record::os::never_call();
    return;
  }
  if (memtrace::record::event_is_of_vfork_child()) return;
  bool ours = malloc_is_ours();
  if (!ours || memtrace::hooks::next_function("__lsan_init") != nullptr)
    memtrace::hooks::hide_globals_from_leak_checkers();
  if (!memtrace::record::program_is_selected()) return leave_program();
  const bool cuda = finds_cuda();
  memtrace::hooks::hide_absent(cuda);
  memtrace::hooks::learn_allocator();
  if (!ours) ours = memtrace::hooks::blocks_come_from_sanitizer();
  say_whose_malloc(first_malloc(), ours);
  // An allocator before memtrace calls memtrace's mmap with its locks held, so no native stack is taken then.
  memtrace::record::start_life(ours);
  if (cuda) memtrace::hooks::offer_device_library();
  const char* const phases = memtrace::record::start_environment("MEMTRACE_PHASES");
  const char* const mode = phases != nullptr ? phases : "auto";
  if (!memtrace::record::settings.armed) return memtrace::hooks::python_start(mode);
  memtrace::hooks::python_prepare(mode);
  memtrace::record::when_called(&begin_late);
}

void start_at_event() {
  const int errno_before = errno;
  start_recorder();
  errno = errno_before;
}

// True if the recorder must start in the constructor:
// - the user's settings ask for a trace of each process, or may be wrong, or have a relative path;
// - another allocator comes first, or a leak checker reads the globals of the library;
// - Python wants its audit hook before it starts, and libunwind is opened by the loader;
// - the program may test a weak reference, or use CUDA, before it allocates;
// - a founder's name is in the environment without its job.
bool must_start_now() {
  using memtrace::record::start_environment;
  for (const char* name : {"MEMTRACE_MIN_PEAK", "MEMTRACE_EXACT_MIN", "MEMTRACE_SAMPLE", "MEMTRACE_MAX_TRACE",
                           "MEMTRACE_MAX_NODE", "MEMTRACE_STACKS", "MEMTRACE_PHASES", "MEMTRACE_CUPTI",
                           "MEMTRACE_SPOOL", "MEMTRACE_ARM_AT", "MEMTRACE_ARM_GROWTH"})
    if (start_environment(name) != nullptr) return true;
  if (start_environment("MEMTRACE_FOUNDED") != nullptr && start_environment("MEMTRACE_JOB") == nullptr)
    return true;
  if (memtrace::record::under_valgrind) {
    memtrace::hooks::learn_allocator();
    if (memtrace::hooks::malloc_is_valgrinds()) return true;
  }
  return memtrace::record::start_needs_loader() || !malloc_is_ours() ||
         memtrace::hooks::next_function("__lsan_init") != nullptr ||
         memtrace::record::function_from(memtrace::record::first_object(), "PySys_AddAuditHook") != nullptr ||
         memtrace::hooks::cuda_is_loaded() || memtrace::hooks::has_weak_references_to_absent();
}

// Returns the bytes of the texts that follow each other from the first argument on, as the kernel puts them
// there. The constructor of another library may have put other texts in their place.
std::size_t bytes_of_command(int count, char** arguments) {
  const char* end = arguments[0];
  for (int i = 0; i < count && arguments[i] == end && end != nullptr; ++i) end += std::strlen(end) + 1;
  return static_cast<std::size_t>(end - arguments[0]);
}

// glibc passes these to the constructors of libraries too.
__attribute__((constructor)) void start(int count, char** arguments, char**) {
  const int errno_before = errno;
  memtrace::record::find_valgrind();
  const memtrace::record::Unjudged unjudged;
  memtrace::record::remember_environment();
  memtrace::hooks::process_start();
  if (count > 0) memtrace::record::remember_command(arguments[0], bytes_of_command(count, arguments));
  if (must_start_now()) {
    memtrace::hooks::find_real();
    start_recorder();
  } else {
    memtrace::record::found_job();
    memtrace::record::wait_for_first_event(&start_at_event);
  }
  keep_runtime_from_children();
  errno = errno_before;
}

} // namespace
