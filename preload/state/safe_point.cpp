// Purpose: moments at which a library beside us may ask a card what it shows: it locks, allocates and takes its
// time.
// Runs: on the program's threads, outside its allocators.
#include "preload/state/safe_point.h"

#include <errno.h>

#include "preload/state/recorder_state.h"
#include "preload/state/thread.h"

namespace memtrace::record {

constinit SafePointCall safe_point_call = nullptr;

// The recorder's own work may pass here (a mark within a mark), and a process that is too small for a trace
// needs none.
void make_safe_point_call() {
  const SafePointCall call = __atomic_load_n(&safe_point_call, __ATOMIC_ACQUIRE);
  if (call == nullptr || !active() || local.busy != 0) return;
  const int errno_before = errno;
  call();
  errno = errno_before;
}

} // namespace memtrace::record
