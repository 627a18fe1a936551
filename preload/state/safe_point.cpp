// Purpose: safe points, at which libmemtrace_cupti.so may query a GPU. A query locks, allocates and is slow.
// Runs: on the program's threads, outside its allocators.
#include "preload/state/safe_point.h"

#include <errno.h>

#include "preload/state/arming.h"
#include "preload/state/recorder_state.h"
#include "preload/state/thread.h"

namespace memtrace::record {

constinit SafePointCall safe_point_call = nullptr;

// Does nothing inside the recorder's own work, which may pass here (a mark within a mark), in a disabled
// process, or in an armed one: its answers would be kept nowhere, and are asked for once.
void make_safe_point_call() {
  const SafePointCall call = __atomic_load_n(&safe_point_call, __ATOMIC_ACQUIRE);
  if (call == nullptr || !active() || is_armed() || local.busy != 0) return;
  const int errno_before = errno;
  call();
  errno = errno_before;
}

} // namespace memtrace::record
