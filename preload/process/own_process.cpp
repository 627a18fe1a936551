// Purpose: the process that the state of the recorder belongs to: a child of vfork has the memory of its
// parent.
// Runs: on any thread.
#include "preload/process/own_process.h"

#include "preload/os/clocks.h"
#include "preload/os/threads.h"
#include "preload/os/timestamp.h"
#include "preload/state/thread.h"

namespace memtrace::record {

namespace {

constinit int owner = 0; // its pid
constinit StartTime started{};

} // namespace

int take_process() {
  const int before = owner;
  owner = os::process_id();
  started = {draw_stamp(), os::unix_ns()};
  return before;
}

StartTime start_time() {
  return started;
}

bool is_own_process() {
  return !local.filtered_child && owner == os::process_id();
}

} // namespace memtrace::record
