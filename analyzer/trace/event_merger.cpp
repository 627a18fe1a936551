// Purpose: the records of all threads, merged by stamp into one sequence of events.
#include "analyzer/trace/event_merger.h"

#include "analyzer/trace/snapshot_events.h"

#include <algorithm>

namespace memtrace::trace {
namespace {

using format::EventType;
using format::SmallTotals;

constexpr std::size_t kTogether = 512; // events: as many as fit a second-level cache

format::Kind known_kind(std::uint8_t kind) {
  return kind < format::kKinds ? static_cast<format::Kind>(kind) : format::Kind::none;
}

bool is_of_block(EventType type) {
  return type == EventType::birth || type == EventType::death;
}

// Returns the flows of small blocks that a birth or a death carries: those since the thread's last record.
format::CarriedFlows flows_of_block(const format::RingRecord& record) {
  if (static_cast<EventType>(record.type) == EventType::birth) return record.as<format::BirthEvent>().flows;
  return record.as<format::DeathEvent>().flows;
}
SmallTotals flows_of_counters(const format::RingRecord& record) {
  return record.as<format::CountersEvent>().flows;
}

// True if the type belongs to a snapshot. In a thread's records it is damage, and would discard the state of a
// replay.
bool states(EventType type) {
  return is_of_snapshot(type) || type == EventType::flows;
}

bool any(const SmallTotals& flows) {
  return (flows.allocated | flows.freed | flows.births | flows.deaths) != 0;
}

bool is_of_before(const format::RingRecord& record) {
  return static_cast<EventType>(record.type) == EventType::counters && (record.flags & format::kBefore) != 0;
}

// True if the first record of a thread carries flows that levels lacked for some time. A thread that begins
// while its process is recorded writes a record at its first small block. That record carries this block only,
// which levels did not lack. The record of a large block carries the small blocks before it, and levels lacked
// each.
bool had_flows_before(const format::RingRecord& record) {
  const auto type = static_cast<EventType>(record.type);
  if (is_of_block(type)) {
    const format::CarriedFlows flows = flows_of_block(record);
    return flows.births + flows.deaths > 0;
  }
  if (type != EventType::counters || (record.flags & format::kBlocks) != 0) return false;
  const SmallTotals flows = flows_of_counters(record);
  return flows.births > 1 || flows.deaths > 0;
}

// Returns the larger of two words that may be below 0.
std::uint64_t larger(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::int64_t>(a - b) < 0 ? b : a;
}

} // namespace

Event event_of(std::uint32_t thread, const format::RingRecord& record) {
  Event event;
  event.stamp = record.stamp;
  event.type = static_cast<EventType>(record.type);
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
  // These flows were over when recording began. Since then a level lacks at most their difference.
  const std::uint64_t both = std::min(flows.allocated, flows.freed);
  return {flows.allocated - both, flows.freed - both};
}

Order::Order(const Streams& streams, const Beginning& beginning) : ordinal_(beginning.ordinal) {
  threads_.reserve(streams.size());
  for (const auto& [thread, stream] : streams) {
    threads_.push_back({&stream, Cursor(stream.events)});
    // Threads that share a slot count in memory that a kill does not leave.
    if (thread == format::kSharedThread) end_known_ = false;
    if (const auto carried = beginning.small.find(stream.thread); carried != beginning.small.end())
      threads_.back().seen = carried->second;
    // The merge decodes the first segment of a thread when it reaches the stamp in that segment's header.
    const format::Stamp first = threads_.back().cursor.next_not_before();
    if (first != ~format::Stamp{0} || stream.small) turns_.push({first, threads_.size() - 1});
  }
}

void Order::append(const Streams& streams, const Beginning& beginning) {
  std::map<std::uint32_t, std::size_t> known;
  for (std::size_t i = 0; i < threads_.size(); ++i) known[threads_[i].stream->thread] = i;
  for (const auto& [thread, stream] : streams) {
    const auto [at, fresh] = known.try_emplace(thread, threads_.size());
    if (fresh) {
      threads_.push_back({&stream, Cursor(Cursor::FollowRuns{})});
      if (const auto carried = beginning.small.find(thread); carried != beginning.small.end())
        threads_.back().seen = carried->second;
    }
    ThreadStream& more = threads_[at->second];
    more.stream = &stream;
    more.cursor.continue_with(stream.events);
    const format::Stamp first = more.cursor.next_not_before();
    if (first != ~format::Stamp{0}) turns_.push({first, at->second});
  }
}

SmallTotals Order::not_carried() const {
  SmallTotals sum{};
  for (const ThreadStream& thread : threads_) {
    if (!thread.stream->small) continue;
    const SmallTotals& total = *thread.stream->small;
    const SmallTotals& seen = thread.seen;
    if (total.allocated < seen.allocated || total.freed < seen.freed) continue; // of another use of the slot
    sum.allocated += total.allocated - seen.allocated;
    sum.freed += total.freed - seen.freed;
  }
  return sum;
}

// Loads the thread's next record into `head` and queues it. Returns false at the end of the thread.
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

// Between two records of a thread a level lacks the flows that the second one carries. So at any instant its
// error is at most the sum of the flows in the next records of all threads.
void Order::wait(ThreadStream& thread, Waiting bytes) {
  waiting_.allocated += bytes.allocated - thread.waiting.allocated;
  waiting_.freed += bytes.freed - thread.waiting.freed;
  thread.waiting = bytes;
  most_waiting_.allocated = larger(most_waiting_.allocated, waiting_.allocated);
  most_waiting_.freed = larger(most_waiting_.freed, waiting_.freed);
}

// A thread is not opened before its first record, but levels lacked the flows of that record earlier. The trace
// does not tell since when, so they count from the start: once for the whole merge, not in each `waiting_`. 512
// threads whose first record came after the peak had 1.62 MB waiting, but the reported bound was 1.55 MB.
void Order::wait_from_start(ThreadStream& thread, Waiting bytes) {
  from_start_.allocated += bytes.allocated;
  from_start_.freed += bytes.freed;
  waiting_.allocated -= thread.waiting.allocated;
  waiting_.freed -= thread.waiting.freed;
  thread.waiting = bytes;
}

// Gives the flows that a record carries as an event of its own, with the record's stamp and thread. `blocks`:
// the flows are those of large blocks, which the totals of the ring slots do not have.
void Order::carry(ThreadStream& thread, const Event& base, const SmallTotals& flows, bool blocks) {
  if (!blocks) {
    thread.seen.allocated += flows.allocated;
    thread.seen.freed += flows.freed;
    thread.seen.births += flows.births;
    thread.seen.deaths += flows.deaths;
  }
  if (!any(flows)) return;
  Event& event = ready_.emplace_back();
  event.ordinal = ++ordinal_;
  event.stamp = base.stamp;
  event.kind = format::Kind::heap;
  event.after_gap = base.after_gap;
  event.thread = base.thread;
  event.put(format::CountersEvent{flows});
}

// Gives the flows of the thread after its last record. Only the totals in its ring slot have them.
void Order::rest(ThreadStream& thread) {
  if (thread.small_given || !thread.stream->small) return;
  thread.small_given = true;
  const SmallTotals& total = *thread.stream->small;
  const SmallTotals& seen = thread.seen;
  // If the totals are below the flows seen, they belong to another use of the slot and tell nothing.
  if (total.allocated < seen.allocated || total.freed < seen.freed) {
    end_known_ = false;
    return;
  }
  const SmallTotals rest{total.allocated - seen.allocated, total.freed - seen.freed,
                         total.births - std::min(total.births, seen.births),
                         total.deaths - std::min(total.deaths, seen.deaths)};
  // If there was a record, the flows are given with the last one, although they came later. Until then the
  // level has them too early.
  if (thread.begun) {
    wait(thread, {rest.freed, rest.allocated});
  } else { // These flows are given last.
    wait_from_start(thread, {rest.allocated, rest.freed});
  }
  Event event;
  event.stamp = thread.last_stamp;
  event.thread = thread.stream->thread;
  carry(thread, event, rest);
}

// Adds the record as the next event.
[[gnu::always_inline]] inline Event& Order::add_event(const ThreadStream& thread,
                                                      const format::RingRecord& record) {
  Event& event = ready_.emplace_back();
  event.ordinal = ++ordinal_;
  event.stamp = record.stamp;
  event.type = static_cast<EventType>(record.type);
  event.kind = known_kind(record.kind);
  event.flags = record.flags;
  event.after_gap = thread.cursor.after_gap();
  event.thread = thread.stream->thread;
  event.payload = record.payload;
  return event;
}

void Order::split(ThreadStream& thread, const format::RingRecord& record) {
  ++records_;
  thread.last_stamp = record.stamp;
  const auto type = static_cast<EventType>(record.type);
  if (states(type)) return; // valid in a snapshot only
  if (!is_of_block(type) && type != EventType::counters && type != EventType::move) {
    add_event(thread, record);
    return;
  }
  Event base;
  base.stamp = record.stamp;
  base.after_gap = thread.cursor.after_gap();
  base.thread = thread.stream->thread;
  if (type == EventType::move) {
    base = event_of(base.thread, record);
    base.after_gap = thread.cursor.after_gap();
    return split_move(base);
  }
  if (type == EventType::counters)
    return carry(thread, base, flows_of_counters(record), (record.flags & format::kBlocks) != 0);
  carry(thread, base, flows_of_block(record).totals());
  Event& event = add_event(thread, record);
  (type == EventType::birth ? event.payload.as<format::BirthEvent>().flows
                            : event.payload.as<format::DeathEvent>().flows) = {};
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

// Gives one record, or the birth of a move that is due before it. Returns false after the last.
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
  if (!load(index) && !follows_) rest(thread);
  return true;
}

void Order::next(std::vector<Event>& out) {
  ready_.swap(out); // takes over its memory
  ready_.clear();
  while (ready_.size() < kTogether && turn()) {
  }
  ready_.swap(out);
}

std::size_t Order::bytes() const {
  std::size_t out = sizeof *this + later_.size() * sizeof(PendingBirth);
  for (const ThreadStream& thread : threads_) out += sizeof thread + thread.cursor.bytes();
  return out;
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
