// Runs: around fork, as atfork handlers, and around the end of a thread.
// Purpose: the background thread is gone while the kernel counts threads; a forked child begins its own life.
#include "preload/record/fork.h"

#include "preload/record/begin.h"
#include "preload/record/bound.h"
#include "preload/record/cold.h"
#include "preload/record/definitions.h"
#include "preload/record/device_memory.h"
#include "preload/record/drain.h"
#include "preload/record/end.h"
#include "preload/record/exec.h"
#include "preload/record/fork_mark.h"
#include "preload/record/frame_rules.h"
#include "preload/record/ledger_moment.h"
#include "preload/record/live_levels.h"
#include "preload/record/loss.h"
#include "preload/record/map_levels.h"
#include "preload/record/memory_locks.h"
#include "preload/record/os_gate.h"
#include "preload/record/own_process.h"
#include "preload/record/own_ranges.h"
#include "preload/record/place.h"
#include "preload/record/recorder_state.h"
#include "preload/record/ring.h"
#include "preload/record/samples.h"
#include "preload/record/sampling.h"
#include "preload/record/settings.h"
#include "preload/record/shares.h"
#include "preload/record/shut_files.h"
#include "preload/record/stamp.h"
#include "preload/record/talk.h"
#include "preload/record/thread.h"
#include "preload/record/thread_entry.h"
#include "preload/record/trace_file.h"
#include "preload/record/upcalls.h"
#include "preload/record/valgrind.h"
#include "preload/record/windows.h"

namespace memtrace::record {

namespace {

constexpr std::uint64_t kQuietAfterFork = 250'000'000; // CPython counts threads once fork has returned

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

// `raw`: by a system call of the program's, without handlers.
void begin_as_child(bool raw) {
  if (os::calls_are_stopped()) return enter(State::inert); // its parent's filter is its own
  forget_beginning({static_cast<std::uint32_t>(take_process()), state() == State::hot ? trace_file.trace_id : 0,
                    local.fork_stamp, host_level(), tensor_level()});
  set_birth(true);
  place.founder = false;
  os::forget_calls();
  forget_shut_files();
  forget_own_of_parent();
  forget_drain();
  forget_ledger_moments(raw);
  forget_samples();
  forget_rings();
  forget_windows();
  forget_bound();
  keep_losses_in(nullptr);
  cold_forget();
  sampled_forked();
  definitions_forked();
  frame_rules_forked();
  local.holds_definitions = false;
  map_levels_forked();
  memory_locks_forked();
  device_memory_forked();
  talk_forked();
  look_often_without_slot(is_large_enough());
  forget_exec();
  forget_other_threads();
  reset_flows();
  remember_exit_code(0);
  settings.counting = false;
  set_fork_mark();
  enter(State::cold);
}

} // namespace

// A lock that an inert child kept would hold up each fork of its own for a second: in bash, which is not
// recorded, a subshell within a subshell did.
void after_fork_in_child() {
  const Unjudged unjudged;
  if (active()) begin_as_child(false);
  if (local.holds_definitions) release_definitions();
  local.holds_definitions = false;
}

void begin_life_of_raw_child() {
  local.fork_stamp = last_stamp;
  if (active()) begin_as_child(true);
}

void before_thread_exit() {
  if (!active() || !is_own_process()) return;
  retire_drain();
  restart_drain_after(0); // by a thread that is left
}

} // namespace memtrace::record
