// Purpose: frees the slot of a thread that has ended, and writes its remaining flows.
// Runs: inside the program's malloc; the threads lock is held.
#include "preload/record/ended_thread.h"

#include "preload/os/timestamp.h"
#include "preload/record/live_levels.h"
#include "preload/record/startup_log.h"
#include "preload/ring/ring.h"
#include "preload/state/arming.h"
#include "preload/state/new_record.h"
#include "preload/state/recorder_state.h"

namespace memtrace::record {

using format::RingRecord;
using format::SmallTotals;

namespace {

// Stores the record. Recording cannot begin here, as it can in emit(), because the threads lock is held.
bool store(Thread& thread, RingRecord& record) {
  if (state() == State::buffering)
    if (const AppendResult kept = append_to_startup_log(thread, record); kept != AppendResult::closed)
      return kept == AppendResult::yes || kept == AppendResult::crowded;
  return ring_append(thread, record);
}

} // namespace

bool publish_left_over(Thread& thread) {
  if (state() == State::disabled) return true;
  if (is_armed()) { // the level keeps what the thread left; no record will carry its flows
    level(0, change_of(unpublished(thread)));
    set_published(thread, unpublished(thread));
    take_folded(thread);
    return true;
  }
  if (const SmallTotals folded = take_folded(thread); !is_zero(folded)) {
    RingRecord again = counters_of(folded, draw_stamp());
    again.flags = format::kBefore; // they moved the level when they were published first
    if (!store(thread, again)) {
      give_folded(thread, folded);
      return false;
    }
  }
  if (const SmallTotals flows = unpublished(thread); !is_empty(flows)) {
    level(0, change_of(flows));
    RingRecord record = counters_of(flows, draw_stamp());
    if (!store(thread, record)) {
      level(0, -change_of(flows)); // the next record will carry these flows, and move the level again
      return false;
    }
    set_published(thread, flows);
  }
  return is_zero(thread.folded); // a full log gives back flows when it gets a record
}

bool release_ended(Thread& thread) {
  if (!leave_old_file(thread)) return false;
  // A ring that is half full gets no record here, because that could need a pass.
  if (has_left_over(thread) && (ring_is_half_full(thread) || !publish_left_over(thread))) return false;
  return release_slot(thread);
}

} // namespace memtrace::record
