// Purpose: writes everything to disk before exec replaces the program; if exec fails, recording continues.
// Runs: around exec.
#include "preload/process/exec.h"

#include <cstring>

#include "preload/blocks/recording.h"
#include "preload/bounded/fork_locks.h"
#include "preload/drain/drain_thread.h"
#include "preload/os/gate/syscall_gate.h"
#include "preload/process/own_process.h"
#include "preload/process/process_notes.h"
#include "preload/record/interner.h"
#include "preload/record/thread_list.h"
#include "preload/ring/ring.h"
#include "preload/ring/ring_file.h"
#include "preload/state/loss_counters.h"
#include "preload/state/messages.h"
#include "preload/state/new_record.h"
#include "preload/state/pauses.h"
#include "preload/state/recorder_state.h"

namespace memtrace::record {

namespace {

constinit SpinLock exec_lock; // held from before an exec until it has failed
REGISTER_LOCK(exec_lock, nullptr);
constinit bool ring_removed = false; // before that exec

// Records that an exec failed. The trace then shows it even if the process is killed before it allocates.
void note_failed_exec() {
  const Recording here;
  if (!here) return;
  Line<16> text;
  put_note(text.add("exec=failed"));
}

} // namespace

bool before_exec(const char* path) {
  if (state() != State::recording || !is_own_process()) return false;
  const Recording here;
  if (!here || !exec_lock.lock()) return false;
  ring_removed = false;
  drain_rings(true);
  open_reserve();
  note_losses();
  note_pauses();
  note_own_memory();
  format::RingRecord record = record_of(format::ExecEvent{intern_text(path, std::strlen(path)), 0});
  emit(record);
  const bool said = put_end(format::EndHow::exec, 0);
  if (os::calls_are_stopped()) return true; // the ring file retains everything
  retire_drain();
  drain_rings(true);
  ring_removed = said && rings_are_empty(); // else the disk is slow or full: the ring file retains the rest
  if (ring_removed) remove_ring_file();
  return true;
}

void after_failed_exec() {
  const bool has_rings = !ring_removed || renew_rings();
  exec_lock.unlock();
  restart_drain_after(0);
  if (has_rings) {
    note_failed_exec();
    return;
  }
  say({"not recording any more: no ring can be written in the place of ", ring_path().text()});
  enter(State::disabled);
}

bool renew_rings() {
  if (!renew_ring_file()) return false;
  set_uncounted_bounds(); // counters in slots of the old file do not survive a kill
  keep_losses_in(ring_header());
  keep_pauses_in(ring_header());
  return true;
}

} // namespace memtrace::record
