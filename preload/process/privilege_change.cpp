// Purpose: the actions of the recorder around a call that changes the rights of the process.
// Runs: on the program's threads, around its calls.
#include "preload/process/privilege_change.h"

#include <cerrno>

#include "preload/blocks/recording.h"
#include "preload/bounded/fixed_string.h"
#include "preload/drain/drain_thread.h"
#include "preload/job/job_directory.h"
#include "preload/os/clocks.h"
#include "preload/os/files.h"
#include "preload/os/gate/syscall_gate.h"
#include "preload/os/sandbox.h"
#include "preload/os/timestamp.h"
#include "preload/process/own_process.h"
#include "preload/record/interner.h"
#include "preload/ring/ring.h"
#include "preload/ring/shut_files.h"
#include "preload/samples/sample_schedule.h"
#include "preload/state/arming.h"
#include "preload/state/doorbell.h"
#include "preload/state/fork_mark.h"
#include "preload/state/loss_counters.h"
#include "preload/state/recorder_state.h"
#include "preload/state/thread.h"
#include "preload/state/upcalls.h"
#include "preload/trace/trace_file.h"

namespace memtrace::record {
namespace {

// A server that takes another user's rights for each request changes its ids a thousand times a second. Without
// this delay, the background thread would start as often.
constexpr std::uint64_t kQuietNs = 10'000'000;

// Opens the files again. Notes once from when to when they were not available.
void reopen_files(const Recording& here) {
  const format::Stamp since = open_files_again();
  if (since == 0) return;
  Line<96> text;
  text.add("rings_only=credentials ").add(since).add(" ").add(draw_stamp());
  here.note(text.text(), text.size());
}

// Writes the records in the rings to the file while it can be written.
void empty_rings() {
  const Recording here;
  if (here && state() == State::recording) drain_rings(false);
}

bool is_filter(Change change) {
  return change == Change::filter || change == Change::strict;
}

} // namespace

Changing::Changing(Change change) : change_(change) {
  if (change == Change::none || os::calls_are_stopped()) return;
  if (!active()) {
    if (state() == State::waiting) in_ = In::vfork_child;               // else the recorder would have started
    if (in_ == In::nothing && drain_is_running() && is_own_process()) { // it copies a trace that is complete
      in_ = In::copying;
      hold_drain();
    }
    return;
  }
  if (const Recording here; here) notice_fork();
  if (!active()) return;
  in_ = is_own_process() ? In::own_process : In::vfork_child;
  if (in_ == In::vfork_child) return;
  const bool ran = drain_is_running();
  hold_drain();
  if (change == Change::privileges && ran) empty_rings();
  if (is_filter(change)) prepare_filter();
}

void Changing::over(bool made) {
  if (in_ == In::vfork_child && made && is_filter(change_)) mark_vfork_child();
  if (in_ == In::copying) return release_drain(0);
  if (in_ != In::own_process) return;
  if (is_filter(change_)) return filter_is_over(made);
  release_drain(change_ == Change::threads ? 0 : kQuietNs);
  if (const Recording here; here) look_at_files(here);
}

// A buffering process has no file that it could write to later. The user wants to see the founder of the job
// and its ranks, so these create one now.
void Changing::prepare_filter() {
  if (const Recording here; here) {
    if (state() == State::buffering && !is_armed() && (place.founder || place.rank != ~0u)) begin_recording();
    if (state() == State::recording) {
      sample_last();
      drain_rings(false);
    }
  }
  os::stop_calls(change_ == Change::strict ? os::Counter::refused : os::Counter::readable);
}

void Changing::filter_is_over(bool made) {
  if (!made) {
    os::allow_calls();
    release_drain(0);
    return;
  }
  if (state() == State::buffering) return enter(State::disabled);
  shut_files(format::Loss::sandbox);
}

// While `busy` is set, the recorder ignores this thread, as if it were inside the recorder already.
bool unmark_vfork_child() {
  if (!local.filtered_child) return false;
  local.filtered_child = false;
  local.busy = 0;
  return true;
}
void mark_vfork_child() {
  local.filtered_child = true;
  local.busy = 1;
}

// The files are opened by name each time, with the credentials of that time.
void look_at_files(const Recording& here) {
  if (state() != State::recording || os::calls_are_stopped()) return;
  const long fd = os::open_own(trace_file.path.text(), os::For::appending);
  if (fd >= 0) os::close(fd);
  if (fd == -EACCES) files_are_refused();
  if (fd >= 0 && files_are_shut()) reopen_files(here);
}

} // namespace memtrace::record
