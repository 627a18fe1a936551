// Purpose: from the records of all threads, in order of their stamps, to the snapshot of a window and the rows
// of the rollup.
// Runs: in the drain and, when its ring is full, on the program's thread.
#include "preload/rollup/rollup.h"

#include "preload/format/phase_events.h"
#include "preload/format/sample_events.h"

namespace memtrace::rollup {

using format::EventType;
using format::RingRecord;
using format::SmallTotals;

void Rollup::start(const Host& host, bool forked, std::int64_t live_bytes, std::int64_t tensor_bytes) {
  forget();
  host_ = host;
  ledger_.start(forked, live_bytes, tensor_bytes);
}

void Rollup::forget() {
  std::memset(static_cast<void*>(this), 0, sizeof *this);
  level_error_ = {};
}

void Rollup::attach(void* memory, std::size_t bytes, std::uint64_t trace_id, format::Stamp from) {
  file_.attach(memory, bytes, trace_id, from);
  phases_.paths().define(host_);
}

void Rollup::forget_highest() {
  std::memcpy(highest_, ledger_.levels(), sizeof highest_);
}

std::uint64_t Rollup::bytes() const {
  return sizeof *this + ledger_.bytes() + phases_.bytes() + carried_.bytes();
}

void Rollup::apply(std::uint32_t thread, const RingRecord& record) {
  if (later_used_ != 0 && later_[later_used_ - 1].record.stamp < record.stamp) births_until(record.stamp);
  apply_now(thread, record);
}

void Rollup::passed(bool complete) {
  births_until(~format::Stamp{0});
  ledger_.ragged(!complete);
}

void Rollup::close() {
  births_until(~format::Stamp{0});
  phases_.close(host_, ledger_);
  if (!file_.attached()) return;
  phases_.paths().define(host_);
  ledger_.rows().publish_all(file_);
}

void Rollup::apply_now(std::uint32_t thread, const RingRecord& record) {
  switch (static_cast<EventType>(record.type)) {
    case EventType::birth: {
      const PhasePlace place = phases_.place(thread);
      if (carries_any(record)) carry(thread, flows_of(record), place);
      ledger_.birth(host_, record, place, file_);
      break;
    }
    case EventType::death: {
      const PhasePlace place = phases_.place(thread);
      if (carries_any(record)) carry(thread, flows_of(record), place);
      ledger_.death(host_, record, place);
      return; // a death does not raise a level
    }
    case EventType::counters:
      carry(thread, flows_of(record), phases_.place(thread));
      break;
    case EventType::move:
      move(thread, record);
      break;
    case EventType::protect:
      ledger_.protect(host_, record, phases_.place(thread), file_);
      break;
    case EventType::label:
      ledger_.label(record);
      return;
    case EventType::reserved:
      ledger_.reserve(record.flags >> format::kMemoryShift, record.as<format::ReservedEvent>().reserved);
      break;
    case EventType::phase_begin:
      if ((record.flags & format::kInstant) != 0) return;
      phases_.begin(host_, thread, record, ledger_);
      step_over();
      return;
    case EventType::phase_end:
      phases_.end(host_, thread, record, ledger_);
      return;
    case EventType::step:
      phases_.step(record.as<format::StepEvent>().number, ledger_);
      step_over();
      return;
    case EventType::reset:
      phases_.reset(host_, ledger_);
      step_over();
      return;
    case EventType::sample_process: {
      const auto sample = record.as<format::SampleProcessEvent>();
      phases_.sample({{static_cast<std::int64_t>(sample.anon), static_cast<std::int64_t>(sample.file),
                       static_cast<std::int64_t>(sample.shmem)}});
      return;
    }
    default:
      return;
  }
  if (const unsigned memory = memory_of(record); memory != 0) see_highest(memory);
  see_highest(0); // a record of a device may carry flows of the host
}

void Rollup::see_highest(unsigned memory) {
  const std::int64_t* const levels = ledger_.levels()[memory];
  std::int64_t* const highest = highest_[memory];
  for (unsigned measure = 0; measure < kMeasures; ++measure)
    if (levels[measure] > highest[measure]) highest[measure] = levels[measure];
}

void Rollup::carry(std::uint32_t thread, const SmallTotals& flows, const PhasePlace& place) {
  if ((flows.allocated | flows.freed | flows.births | flows.deaths) == 0) return;
  ledger_.small(host_, flows, place);
  const Carried key{thread, {}};
  Carried* carried = carried_.find_or_add(host_, key);
  if (carried == nullptr) {
    carried_.keep_if([this](const Carried& old) { return host_.lives(old.thread); });
    carried = carried_.find_or_add(host_, key);
  }
  if (carried == nullptr) return;
  carried->total.allocated += flows.allocated;
  carried->total.freed += flows.freed;
  carried->total.births += flows.births;
  carried->total.deaths += flows.deaths;
}

// Splits a move into a death now and a birth later, because the real call lies between them.
void Rollup::move(std::uint32_t thread, const RingRecord& record) {
  const auto move = record.as<format::MoveEvent>();
  RingRecord half = record;
  if (record.flags & format::kRange) {
    if (ledger_.lift(host_, half, phases_.place(thread))) defer(thread, half);
    return;
  }
  half.put(move.death());
  ledger_.death(host_, half, phases_.place(thread));
  half.put(move.birth());
  half.stamp = record.stamp + move.birth_after;
  defer(thread, half);
}

void Rollup::defer(std::uint32_t thread, const RingRecord& half) {
  if (later_used_ == kLater) births_until(~format::Stamp{0}); // more moves at once than kLater
  std::uint32_t i = later_used_++;
  for (; i > 0 && later_[i - 1].record.stamp <= half.stamp; --i) later_[i] = later_[i - 1];
  later_[i] = {thread, half};
}

void Rollup::births_until(format::Stamp stamp) {
  while (later_used_ != 0 && later_[later_used_ - 1].record.stamp < stamp) {
    const PendingHalf& due = later_[--later_used_];
    if (static_cast<EventType>(due.record.type) == EventType::move) {
      ledger_.put_down(host_, due.record, phases_.place(due.thread), file_);
      see_highest(memory_of(due.record));
    } else {
      apply_now(due.thread, due.record);
    }
  }
}

void Rollup::step_over() {
  if (phases_.now() == step_) return;
  step_ = phases_.now();
  if (file_.attached()) phases_.paths().define(host_);
  ledger_.rows().publish(step_, file_);
}

} // namespace memtrace::rollup
