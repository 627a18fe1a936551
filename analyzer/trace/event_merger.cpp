// Purpose: the threads' records, merged by stamp into one sequence of events.
#include "analyzer/trace/event_merger.h"

#include <algorithm>

namespace memtrace::trace {
namespace {

using format::EventType;
using format::SmallTotals;

constexpr std::size_t kTogether = 512; // events: what a second-level cache holds

format::Kind known_kind(std::uint8_t kind) {
  return kind < format::kKinds ? static_cast<format::Kind>(kind) : format::Kind::none;
}

bool is_of_block(EventType type) {
  return type == EventType::birth || type == EventType::death;
}

// Flows of small blocks that a birth or a death brings, since the thread's last record.
format::CarriedFlows flows_of_block(const format::RingRecord& record) {
  if (static_cast<EventType>(record.type) == EventType::birth) return record.as<format::BirthEvent>().flows;
  return record.as<format::DeathEvent>().flows;
}
SmallTotals flows_of_counters(const format::RingRecord& record) {
  return record.as<format::CountersEvent>().flows;
}

template <class Fields>
void drop_flows(Event& event) {
  auto fields = event.as<Fields>();
  fields.flows = {};
  event.put(fields);
}

// Types of a snapshot. In a thread's records they would be damage, and would make all start anew.
bool states(EventType type) {
  return type == EventType::window || type == EventType::level || type == EventType::held ||
         type == EventType::open_phase || type == EventType::flows || type == EventType::displaced ||
         type == EventType::early_death;
}

bool any(const SmallTotals& flows) {
  return (flows.allocated | flows.freed | flows.births | flows.deaths) != 0;
}

bool is_of_before(const format::RingRecord& record) {
  return static_cast<EventType>(record.type) == EventType::counters && (record.flags & format::kBefore) != 0;
}

// The first record of a thread brings flows that were missing for some time. A thread that begins while its
// process is recorded writes a record at its first block: that brings this block alone, which was missing for
// no time.
bool had_flows_before(const format::RingRecord& record) {
  const auto type = static_cast<EventType>(record.type);
  if (is_of_block(type)) {
    const format::CarriedFlows flows = flows_of_block(record);
    return flows.births + flows.deaths > 1;
  }
  if (type != EventType::counters || (record.flags & format::kBlocks) != 0) return false;
  const SmallTotals flows = flows_of_counters(record);
  return flows.births > 1 || flows.deaths > 0;
}

// Of two words that may be below 0.
std::uint64_t larger(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::int64_t>(a - b) < 0 ? b : a;
}

} // namespace

Event event_of(std::uint32_t thread, const format::RingRecord& record) {
  Event event;
  event.stamp = record.stamp;
  event.type = static_cast<EventType>(record.type);
  event.raw_kind = record.kind;
  event.kind = known_kind(record.kind);
  event.flags = record.flags;
  event.thread = thread;
  event.payload = record.payload;
  return event;
}

Order::Waiting Order::waiting_in(const format::RingRecord& record) {
  const auto type = static_cast<EventType>(record.type);
  if (is_of_block(type)) {
    const format::CarriedFlows flows = flows_of_block(record);
    return {flows.allocated, flows.freed};
  }
  if (type != EventType::counters) return {};
  const SmallTotals flows = flows_of_counters(record);
  if ((record.flags & format::kBefore) == 0) return {flows.allocated, flows.freed};
  // Over when recording began: since then a level lacks no more than what is left of them.
  const std::uint64_t both = std::min(flows.allocated, flows.freed);
  return {flows.allocated - both, flows.freed - both};
}

Order::Order(const Streams& streams, const Beginning& beginning) : ordinal_(beginning.ordinal) {
  threads_.reserve(streams.size());
  for (const auto& [thread, stream] : streams) {
    threads_.push_back({&stream, Cursor(stream.events)});
    // Threads that share a slot count where a kill leaves nothing.
    if (thread == format::kSharedThread) end_known_ = false;
    if (const auto carried = beginning.small.find(stream.thread); carried != beginning.small.end())
      threads_.back().seen = carried->second;
    // A thread is opened when its turn comes: until then its first segment's header is enough.
    const format::Stamp first = threads_.back().cursor.next_not_before();
    if (first != ~format::Stamp{0} || stream.small) turns_.push({first, threads_.size() - 1});
  }
}

// Makes `head` the thread's next record and queues it. False at the thread's end.
bool Order::load(std::size_t index) {
  ThreadStream& thread = threads_[index];
  thread.loaded = thread.cursor.next(thread.head);
  if (thread.loaded) {
    const StreamTurn turn{thread.head.stamp, index};
    if (turns_.empty() || turns_.top() > turn) {
      now_ = turn;
    } else {
      turns_.push(turn);
    }
  }
  if (!thread.loaded) {
    wait(thread, {});
  } else if (!thread.begun && had_flows_before(thread.head)) {
    wait_from_start(thread, waiting_in(thread.head));
  } else {
    wait(thread, waiting_in(thread.head));
  }
  thread.begun |= thread.loaded && !is_of_before(thread.head);
  return thread.loaded;
}

// Between two records of a thread a level lacks what the second one will bring: at any instant it is off by at
// most what the next records of all threads bring together.
void Order::wait(ThreadStream& thread, Waiting bytes) {
  waiting_.allocated += bytes.allocated - thread.waiting.allocated;
  waiting_.freed += bytes.freed - thread.waiting.freed;
  thread.waiting = bytes;
  most_waiting_.allocated = larger(most_waiting_.allocated, waiting_.allocated);
  most_waiting_.freed = larger(most_waiting_.freed, waiting_.freed);
}

// A thread is not opened before its first record, but the flows of that record were missing at earlier
// instants. When they began is not told, so they count from the start: once for the whole merge, not in each
// `waiting_`. 512 threads whose first record came after the peak had 1.62 MB waiting, and 1.55 MB were
// admitted.
void Order::wait_from_start(ThreadStream& thread, Waiting bytes) {
  from_start_.allocated += bytes.allocated;
  from_start_.freed += bytes.freed;
  waiting_.allocated -= thread.waiting.allocated;
  waiting_.freed -= thread.waiting.freed;
  thread.waiting = bytes;
}

void Order::carry(ThreadStream& thread, const Event& base, const SmallTotals& flows) {
  const bool blocks = base.type == EventType::counters && (base.flags & format::kBlocks) != 0;
  if (!blocks) {
    thread.seen.allocated += flows.allocated;
    thread.seen.freed += flows.freed;
    thread.seen.births += flows.births;
    thread.seen.deaths += flows.deaths;
  }
  if (!any(flows)) return;
  Event event = base;
  event.put(format::CountersEvent{flows});
  event.kind = format::Kind::heap;
  event.flags = 0;
  give(event);
}

// What the thread did after its last record, known only from the totals that its ring slot kept.
void Order::rest(ThreadStream& thread) {
  if (thread.small_given || !thread.stream->small) return;
  thread.small_given = true;
  const SmallTotals& total = *thread.stream->small;
  const SmallTotals& seen = thread.seen;
  // Totals behind what was seen belong to another life of the slot: they say nothing.
  if (total.allocated < seen.allocated || total.freed < seen.freed) {
    end_known_ = false;
    return;
  }
  const SmallTotals rest{total.allocated - seen.allocated, total.freed - seen.freed,
                         total.births - std::min(total.births, seen.births),
                         total.deaths - std::min(total.deaths, seen.deaths)};
  if (thread.begun) { // They are given at the last record, and came later: until then the level has them too
                      // early.
    wait(thread, {rest.freed, rest.allocated});
  } else { // They are given last.
    wait_from_start(thread, {rest.allocated, rest.freed});
  }
  Event event;
  event.stamp = thread.last_stamp;
  event.thread = thread.stream->thread;
  carry(thread, event, rest);
}

void Order::split(ThreadStream& thread, const format::RingRecord& record) {
  ++records_;
  Event event = event_of(thread.stream->thread, record);
  event.after_gap = thread.cursor.after_gap();
  thread.last_stamp = record.stamp;
  if (states(event.type)) return; // not the affair of a thread
  switch (event.type) {
    case EventType::counters:
      carry(thread, event, flows_of_counters(record));
      return;
    case EventType::birth:
      carry(thread, event, flows_of_block(record).totals());
      drop_flows<format::BirthEvent>(event);
      break;
    case EventType::death:
      carry(thread, event, flows_of_block(record).totals());
      drop_flows<format::DeathEvent>(event);
      break;
    case EventType::move:
      split_move(event);
      return;
    default:
      break;
  }
  give(event);
}

void Order::split_move(const Event& event) {
  const auto move = event.as<format::MoveEvent>();
  Event death = event;
  Event birth = event;
  if ((event.flags & format::kRange) == 0) {
    death.put(move.death());
  } else {
    birth.kind = format::Kind::none;
  }
  birth.put(move.birth());
  birth.stamp = event.stamp + move.birth_after;
  give(death);
  later_.push({birth, moves_++});
}

// Gives one record, or the birth of a move that is due before it. False after the last.
bool Order::turn() {
  if (!now_ && !turns_.empty()) {
    now_ = turns_.top();
    turns_.pop();
  }
  if (!now_ && later_.empty()) return false;
  if (!now_ || (!later_.empty() && later_.top().event.stamp < now_->stamp)) {
    give(later_.top().event);
    later_.pop();
    return true;
  }
  const std::size_t index = now_->thread;
  now_.reset();
  ThreadStream& thread = threads_[index];
  if (thread.loaded) split(thread, thread.head);
  if (!load(index)) rest(thread);
  return true;
}

std::span<const Event> Order::next() {
  ready_.clear();
  while (ready_.size() < kTogether && turn()) {
  }
  return ready_;
}

OrderCounts Order::counts() const {
  OrderCounts counts;
  counts.records = records_;
  counts.end_known = end_known_;
  counts.too_low = from_start_.allocated + most_waiting_.allocated;
  counts.too_high = from_start_.freed + most_waiting_.freed;
  for (const ThreadStream& thread : threads_) {
    counts.missing += thread.cursor.missing();
  }
  return counts;
}

} // namespace memtrace::trace
