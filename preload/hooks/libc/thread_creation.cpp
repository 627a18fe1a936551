// Purpose: hook of pthread_create, for the threads of NCCL: they take device memory for the process group in
// which they were made (docs/decisions/0072).
// Runs: on the thread that makes another.
#include <errno.h>
#include <pthread.h>

#include "preload/api/export.h"
#include "preload/blocks/recording.h"
#include "preload/hooks/symbols/find_symbol.h"
#include "preload/record/process_groups.h"

#include "preload/os/gate/forbidden.h"

namespace {

using Start = void* (*)(void*);
using Create = int (*)(pthread_t*, const pthread_attr_t*, Start, void*);
constinit Create real_create = nullptr;

} // namespace

// Has another C++ name, because forbidden.h poisons the name.
EXPORT int memtrace_at_thread_creation(pthread_t* out, const pthread_attr_t* attributes, Start start,
                                       void* argument) noexcept __asm__("pthread_create");
int memtrace_at_thread_creation(pthread_t* out, const pthread_attr_t* attributes, Start start,
                                void* argument) noexcept {
  Create create = __atomic_load_n(&real_create, __ATOMIC_RELAXED);
  if (create == nullptr) {
    memtrace::hooks::find_next(&create, "pthread_create");
    if (create == nullptr) return EAGAIN;
    __atomic_store_n(&real_create, create, __ATOMIC_RELAXED);
  }
  const int result = create(out, attributes, start, argument);
  if (result != 0 || !memtrace::record::groups_are_used()) return result;
  if (const memtrace::record::Recording here; here) memtrace::record::thread_was_made(out);
  return result;
}
