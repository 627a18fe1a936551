// Runs: on the thread that ends the process.
// Purpose: the orderly end: all that was recorded is written, and the ring file is removed.
#include "preload/record/end.h"

#include <signal.h>

#include "preload/record/attempt.h"
#include "preload/record/changes.h"
#include "preload/record/drain.h"
#include "preload/record/ledger_moment.h"
#include "preload/record/ledger_times.h"
#include "preload/record/node.h"
#include "preload/record/os_gate.h"
#include "preload/record/own_process.h"
#include "preload/record/process_notes.h"
#include "preload/record/recorder_state.h"
#include "preload/record/recording.h"
#include "preload/record/ring.h"
#include "preload/record/ring_file.h"
#include "preload/record/sample_times.h"
#include "preload/record/shares.h"
#include "preload/record/valgrind.h"
#include "preload/record/windows.h"

namespace memtrace::record {

namespace {

constinit int exit_code = 0;

} // namespace

void end_life(int code) {
  const Unjudged unjudged;
  if (!active() || !is_own_process()) return;
  if (state() != State::hot) {
    enter(State::inert);
    return;
  }
  bool said = false; // the end record is in a ring
  {
    const Recording here;
    if (!here) return; // exit from within our own work, in a signal handler: the rings keep everything
    look_at_files(here);
    // At the bound a full ring takes nothing more: the last records have room of their own.
    drain_rings(true);
    open_reserve();
    put_flows_of_others();
    if (share().detail == Detail::full) note_share();
    note_losses();
    note_own_memory();
    said = put_record(format::EventType::end, static_cast<std::uint8_t>(format::EndHow::exit),
               static_cast<std::uint32_t>(code));
    if (code != 0) note_giving_up();
  }
  if (os::calls_are_stopped()) { // the ring file keeps it all
    enter(State::inert);
    ring_header()->ended = 1;
    return;
  }
  answer_at_end();
  ask_for_last_ledger();
  const bool drain_gone = retire_drain();
  if (drain_gone) sample_last();
  if (drain_gone) sample_last_share();
  enter(State::inert);
  drain_rings(true);
  close_windows();
  // Without the end record in the trace, the ring file stays: it has what was lost.
  if (said) ring_header()->ended = 1;
  if (said && drain_gone && rings_are_empty()) remove_ring_file();
}

// The process may go on, by a handler that jumps: then this thread has later records, and the end was none.
void note_abort() {
  if (!active() || !is_own_process() || state() != State::hot) return;
  const Recording here;
  if (!here) return;
  put_record(format::EventType::end, static_cast<std::uint8_t>(format::EndHow::signal), SIGABRT);
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
