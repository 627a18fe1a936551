// Purpose: sends each record to the startup log or to a ring, or drops it.
// Runs: inside the program's malloc.
#include "preload/record/emit.h"

#include "preload/os/timestamp.h"
#include "preload/record/live_levels.h"
#include "preload/record/startup_log.h"
#include "preload/record/thread_entry.h"
#include "preload/ring/ring.h"
#include "preload/state/arming.h"
#include "preload/state/doorbell.h"
#include "preload/state/loss_counters.h"
#include "preload/state/new_record.h"
#include "preload/state/recorder_state.h"
#include "preload/state/thread.h"
#include "preload/state/upcalls.h"

namespace memtrace::record {

using format::EventType;
using format::RingRecord;
using format::SmallTotals;

namespace {

bool carries_flows(const RingRecord& record) {
  return record.type == static_cast<std::uint8_t>(EventType::birth) ||
         record.type == static_cast<std::uint8_t>(EventType::death);
}

bool fits(const SmallTotals& flows) {
  return (flows.allocated | flows.freed | flows.births | flows.deaths) >> 32 == 0;
}

// Stores the record in the ring or the startup log. Returns false if the record is lost; the loss is counted.
bool store(Thread& thread, RingRecord& record) {
  if (state() == State::recording) return ring_append(thread, record);
  // A block's move is stored as a death and a birth, so that the log can pair them with other records. A
  // mapping's move stays one record, because its result depends on the old mapping.
  if (record.type != static_cast<std::uint8_t>(EventType::move) || (record.flags & format::kRange) != 0) {
    record.commit = 0;
    const AppendResult kept = append_to_startup_log(thread, record);
    if (kept == AppendResult::yes) return true;
    if (kept == AppendResult::closed) return ring_append(thread, record);
    if (kept == AppendResult::crowded || kept == AppendResult::full) begin_recording();
    return kept == AppendResult::crowded;
  }
  RingRecord half{};
  half.flags = record.flags;
  half.kind = record.kind;
  half.stamp = record.stamp;
  const auto move = record.as<format::MoveEvent>();
  half.put(move.death());
  if (!store(thread, half)) lost_block(half);
  half.put(move.birth());
  half.flags = static_cast<std::uint16_t>(half.flags & ~format::kRange);
  half.stamp = record.stamp + move.birth_after;
  if (!store(thread, half)) lost_block(half);
  return true;
}

// Notes that a record under another thread's number carries these flows. `own` retains the flows that this
// thread's records will carry, so that a reader can compare both.
void carried_elsewhere(Thread& thread, const SmallTotals& flows) {
  add_to(thread.own.allocated, -flows.allocated);
  add_to(thread.own.freed, -flows.freed);
  add_to(thread.own.births, -flows.births);
  add_to(thread.own.deaths, -flows.deaths);
}

// Notes that `record` carries `flows`. It checks the record, not the state, for where the record went. If
// recording began after the record was stored, a record in the startup log would look shared. Later flows would
// then be lost.
void carried(Thread& thread, const SmallTotals& flows, const RingRecord& record) {
  if (is_shared(record)) {
    carried_elsewhere(thread, flows);
  } else {
    set_published(thread, flows);
  }
}

// Takes the flows out of the level. The next record will carry them and add them again.
[[gnu::cold]] void not_carried(const SmallTotals& flows) {
  level(0, -change_of(flows));
}

void emit_counters(Thread& thread, const SmallTotals& flows, format::Stamp stamp) {
  RingRecord record = counters_of(flows, stamp);
  if (store(thread, record)) return carried(thread, flows, record);
  if (thread.slot != nullptr || state() != State::recording) return not_carried(flows);
  keep_slotless_flows(flows);
  carried_elsewhere(thread, flows);
}

// Emits the flows that the startup log gave back. They moved the level when they were published first. The log
// may give back more while this record is stored.
[[gnu::cold]] void emit_folded(Thread& thread, format::Stamp stamp) {
  const SmallTotals folded = take_folded(thread);
  RingRecord record = counters_of(folded, stamp);
  record.flags = format::kBefore;
  if (!store(thread, record)) give_folded(thread, folded);
}

bool is_only_flows(const RingRecord& record) {
  return record.type == static_cast<std::uint8_t>(EventType::counters);
}

// Stores the record with the flows that no record carries yet. Returns false if the record is lost.
[[gnu::noinline]] bool store_with_flows(Thread& thread, RingRecord& record) {
  const SmallTotals flows = unpublished(thread);
  level(0, change_of(flows));
  if (!carries_flows(record) || !fits(flows)) {
    emit_counters(thread, flows, record.stamp);
    return is_only_flows(record) || store(thread, record);
  }
  format::set_carried(record,
                      {static_cast<std::uint32_t>(flows.allocated), static_cast<std::uint32_t>(flows.freed),
                       static_cast<std::uint32_t>(flows.births), static_cast<std::uint32_t>(flows.deaths)});
  const bool stored = store(thread, record);
  if (stored) {
    carried(thread, flows, record);
  } else {
    not_carried(flows);
  }
  return stored;
}

} // namespace

bool emit(RingRecord& record) {
  if (is_armed()) return true; // a mark: nothing of an armed process is kept but its levels
  Thread* const thread = this_thread();
  if (thread == nullptr) {
    lost(loss_without_thread());
    lost_block(record);
    return false;
  }
  __atomic_store_n(&thread->drew, own_stamp, __ATOMIC_RELAXED);
  if (!is_empty(thread->folded)) emit_folded(*thread, record.stamp);
  const bool stored = has_unpublished(*thread) ? store_with_flows(*thread, record)
                                               : is_only_flows(record) || store(*thread, record);
  if (!stored) lost_block(record);
  if (state() == State::buffering && due_to_begin()) begin_recording();
  keep_drain_running();
  return stored;
}

void emit_bare(RingRecord& record) {
  Thread* const thread = this_thread();
  if (thread != nullptr) ring_append(*thread, record);
}

} // namespace memtrace::record
