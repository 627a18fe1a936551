// Purpose: stops the background thread while the kernel counts threads; resets the recorder in a forked child.
// Runs: around fork, as atfork handlers, and around the end of a thread.
#include "preload/process/fork.h"

#include "preload/bounded/fork_locks.h"
#include "preload/device/device_blocks.h"
#include "preload/drain/drain_thread.h"
#include "preload/job/job_directory.h"
#include "preload/os/gate/syscall_gate.h"
#include "preload/os/libc/valgrind.h"
#include "preload/os/recorder_mappings.h"
#include "preload/os/timestamp.h"
#include "preload/process/armed_file.h"
#include "preload/process/begin.h"
#include "preload/process/end.h"
#include "preload/process/own_process.h"
#include "preload/record/block_sampler.h"
#include "preload/record/interner.h"
#include "preload/record/live_levels.h"
#include "preload/record/startup_log.h"
#include "preload/record/thread_entry.h"
#include "preload/record/thread_list.h"
#include "preload/ring/ring.h"
#include "preload/ring/shut_files.h"
#include "preload/rss/ledger_handshake.h"
#include "preload/samples/kernel_samples.h"
#include "preload/samples/pss_samples.h"
#include "preload/state/arming.h"
#include "preload/state/fork_mark.h"
#include "preload/state/loss_counters.h"
#include "preload/state/pauses.h"
#include "preload/state/recorder_state.h"
#include "preload/state/settings.h"
#include "preload/state/thread.h"
#include "preload/state/upcalls.h"
#include "preload/trace/trace_file.h"
#include "preload/trace/trace_windows.h"
#include "preload/trace/write_allowance.h"

namespace memtrace::record {

namespace {

constexpr std::uint64_t kQuietAfterFork = 250'000'000; // CPython counts threads after fork has returned

} // namespace

void before_fork() {
  const Unjudged unjudged;
  retire_drain();
  local.holds_definitions = active() && hold_definitions();
  local.fork_stamp = active() ? draw_stamp() : 0;
}

void after_fork_in_parent() {
  const Unjudged unjudged;
  family_began();
  if (local.holds_definitions) release_definitions();
  local.holds_definitions = false;
  restart_drain_after(kQuietAfterFork);
}

namespace {

// Resets the recorder in a forked child. `raw`: the program forked by a system call, so no handlers ran.
void begin_as_child(bool raw) {
  if (os::calls_are_stopped()) return enter(State::disabled); // the parent's filter also applies to the child
  free_locks_of_parent();
  levels_forked();
  forget_beginning({static_cast<std::uint32_t>(take_process()),
                    state() == State::recording ? trace_file.trace_id : 0, local.fork_stamp, host_level(),
                    tensor_level()});
  set_birth(true);
  place.founder = false;
  os::forget_calls();
  forget_shut_files();
  forget_own_of_parent();
  forget_armed_file();
  steps_wanted = 0;
  stop_is_due = false;
  forget_drain();
  forget_ledger_moments(raw);
  forget_samples();
  forget_rings();
  forget_windows();
  forget_bound();
  keep_losses_in(nullptr);
  keep_pauses_in(nullptr);
  forget_startup_log();
  sampled_forked();
  definitions_forked();
  local.holds_definitions = false;
  device_memory_forked();
  look_often_without_slot(is_large_enough());
  forget_other_threads();
  reset_flows();
  remember_exit_code(0);
  settings.counting = false;
  set_fork_mark();
  enter(State::buffering);
}

} // namespace

// A disabled child releases the lock, too. A lock that such a child held delayed each of its own forks by a
// second: in bash, which is not recorded, a subshell within a subshell did so.
void after_fork_in_child() {
  const Unjudged unjudged;
  forget_thread();
  if (has_begun()) begin_as_child(false);
  if (local.holds_definitions) release_definitions();
  local.holds_definitions = false;
}

void begin_life_of_raw_child() {
  const format::Stamp of_threads = last_stamp_of_threads();
  local.fork_stamp = last_stamp > of_threads ? last_stamp : of_threads;
  forget_thread();
  if (active()) begin_as_child(true);
}

void before_thread_exit() {
  if (!has_begun() || !is_own_process()) return;
  retire_drain();
  restart_drain_after(0); // by a remaining thread
}

} // namespace memtrace::record
