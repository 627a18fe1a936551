// Purpose: the orderly end: all that was recorded is written, and the ring file is removed.
// Runs: on the thread that ends the process.
#include "preload/process/end.h"

#include <signal.h>

#include "preload/blocks/recording.h"
#include "preload/bounded/fixed_string.h"
#include "preload/drain/drain_thread.h"
#include "preload/job/host_quota.h"
#include "preload/job/job_attempt.h"
#include "preload/os/gate/syscall_gate.h"
#include "preload/os/libc/valgrind.h"
#include "preload/process/armed_file.h"
#include "preload/process/own_process.h"
#include "preload/process/privilege_change.h"
#include "preload/process/process_notes.h"
#include "preload/ring/ring.h"
#include "preload/ring/ring_file.h"
#include "preload/rss/ledger_handshake.h"
#include "preload/rss/ledger_schedule.h"
#include "preload/samples/pss_samples.h"
#include "preload/samples/sample_schedule.h"
#include "preload/state/arming.h"
#include "preload/state/recorder_state.h"
#include "preload/state/thread.h"
#include "preload/state/upcalls.h"
#include "preload/trace/trace_windows.h"

namespace memtrace::record {

namespace {

constinit int exit_code = 0;

// Writes everything, and disables the process. `code`: of the process, if this is its end. Else `how` is
// unknown.
void end_recording(format::EndHow how, int code) {
  bool said = false; // the end record is in a ring
  {
    const Recording here;
    if (!here) return; // exit in a signal handler that interrupted the recorder: the rings retain everything
    look_at_files(here);
    // At the bound, a full ring takes no more records. So the last records have room of their own.
    drain_rings(true);
    open_reserve();
    put_flows_of_others();
    if (quota().detail == Detail::full) note_quota();
    note_losses();
    note_pauses();
    note_own_memory();
    if (how == format::EndHow::unknown) {
      Line<16> why;
      put_note(why.add("stopped=steps"));
    }
    said = put_end(how, static_cast<std::uint32_t>(code));
    if (code != 0) note_giving_up();
  }
  if (os::calls_are_stopped()) { // the ring file retains everything
    enter(State::disabled);
    ring_header()->ended = 1;
    return;
  }
  answer_at_end();
  ask_for_last_ledger();
  const bool drain_gone = retire_drain();
  if (drain_gone) sample_last();
  if (drain_gone) sample_last_share();
  enter(State::disabled);
  drain_rings(true);
  close_windows();
  // If the end record is not in the trace, the ring file stays, because it has the records that were lost.
  if (said) ring_header()->ended = 1;
  if (said && drain_gone && rings_are_empty()) remove_ring_file();
  copy_at_end(drain_gone && how == format::EndHow::exit);
}

} // namespace

void end_life(int code) {
  const Unjudged unjudged;
  const bool had_begun = has_begun(); // false after `memtrace arm --steps`, too: its file is still there
  if ((!had_begun && !has_armed_file()) || !is_own_process()) return;
  remove_armed_file();
  if (!had_begun) return finish_copies();
  if (state() == State::recording) return end_recording(format::EndHow::exit, code);
  enter(State::disabled);
}

void stop_recording() {
  const Unjudged unjudged;
  if (state() != State::recording || local.busy != 0 || !is_own_process()) return;
  bool expected = true;
  if (!__atomic_compare_exchange_n(&stop_is_due, &expected, false, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    return; // another thread was first
  end_recording(format::EndHow::unknown, 0);
  answer_stop();
}

// The process may continue if a handler jumps. Then this thread has later records, and this end does not count.
void note_abort() {
  if (state() != State::recording || !is_own_process()) return;
  const Recording here;
  if (!here) return;
  put_end(format::EndHow::signal, SIGABRT);
  ring_header()->ended = 2;
  note_giving_up();
}

void remember_exit_code(int code) {
  exit_code = code;
}
int remembered_exit_code() {
  return exit_code;
}

} // namespace memtrace::record
