// Purpose: the records of all threads, merged by stamp into one sequence of events.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <queue>
#include <span>
#include <vector>

#include "analyzer/decode/record_cursor.h"
#include "preload/format/event_fields.h"

namespace memtrace::trace {

// The place of an event in the merged sequence, from 1. It is unique, and every pass over one Trace gives equal
// ordinals. Levels and lifetimes refer to ordinals, because stamps of a damaged trace may not be unique.
using Ordinal = std::uint64_t;

// One event. A record of the trace may become several events:
// - The small flows of a birth or death come before it as `counters`. The birth or death itself carries none
//   here.
// - The `move` of a block becomes a death and, at a stamp of its own, a birth.
// - The `move` of a mapping takes it from its old place. A birth with the flag `range` and without a kind, at a
//   stamp of its own, puts it at the new place.
// docs/trace-format.md defines the fields.
struct Event {
  Ordinal ordinal = 0;
  format::Stamp stamp = 0;
  format::EventType type = format::EventType::none;
  format::Kind kind = format::Kind::none;
  std::uint16_t flags = 0;
  bool after_gap = false; // records of this thread were lost before it
  std::uint32_t thread = 0;
  format::Payload payload{};

  // Returns the payload as the fields of `Fields`, which must be the struct of this type. The reference is
  // valid as long as this event.
  template <class Fields>
  const Fields& as() const {
    return payload.as<Fields>();
  }
  // Makes this an event of `fields`.
  template <class Fields>
  void put(const Fields& fields) {
    type = Fields::kType;
    payload.put(fields);
  }
};

// Returns the record as one event: not split, and without an ordinal.
Event event_of(std::uint32_t thread, const format::RingRecord& record);

struct OrderCounts {
  std::uint64_t records = 0; // of the trace, before they were split
  std::uint64_t missing = 0; // known by gaps in sequence numbers
  // Bytes by which a level may be too low, and too high, between two records.
  std::uint64_t too_low = 0;
  std::uint64_t too_high = 0;
  // True if the ring slots hold the flows of each thread after its last record. Then the level of the end is
  // exact.
  bool end_known = true;
  std::uint64_t small_error() const { return std::max(too_low, too_high); }
};

// The state from which a merge continues.
struct Beginning {
  Ordinal ordinal = 0;                                // of the last event before it
  std::map<std::uint32_t, format::SmallTotals> small; // flows that each thread's records carried before it
};

// A merge over all threads. Holds one decoded segment for each thread that is in the middle of one. If the
// stamps of a thread run backwards, its records stay in its own order. A copy continues where this one is.
class Order {
 public:
  explicit Order(const Streams& streams, const Beginning& beginning = {});
  // A merge that continues when more records come: see append(). It leaves out the flows after the last record
  // of each thread, because a later record carries them.
  struct FollowStreams {};
  Order(FollowStreams, const Beginning& beginning) : follows_(true), ordinal_(beginning.ordinal) {}
  // Adds what came since. All events before were given. `streams` must exist until the next call, and the flows
  // that `beginning` names are those of threads without records so far.
  void append(const Streams& streams, const Beginning& beginning);
  // Returns the flows of small blocks that no record carries yet, by the totals that append() got last.
  format::SmallTotals not_carried() const;

  // Sets `out` to the next events, some hundreds at a time, or to none after the last.
  void next(std::vector<Event>& out);
  // Complete after next() has returned an empty span.
  OrderCounts counts() const;
  std::uint64_t records() const { return records_; } // so far
  Ordinal ordinal() const { return ordinal_; }       // of the last event given
  std::size_t bytes() const;                         // of memory that a copy takes, about

 private:
  struct Waiting { // bytes of small flows that come with the next record; unsigned, so that a sum may wrap
    std::uint64_t allocated = 0;
    std::uint64_t freed = 0;
  };
  static Waiting waiting_in(const format::RingRecord& record);

  struct ThreadStream {
    const Stream* stream;
    Cursor cursor;
    format::RingRecord head{};
    bool loaded = false;
    bool begun = false; // a record was loaded that is not from before recording began
    bool small_given = false;
    format::Stamp last_stamp = 0;
    format::SmallTotals seen{};
    Waiting waiting{};
  };
  struct StreamTurn {
    format::Stamp stamp;
    std::size_t thread;
    bool operator>(const StreamTurn& other) const {
      return stamp != other.stamp ? stamp > other.stamp : thread > other.thread;
    }
  };
  struct PendingBirth { // the birth of a move
    Event event;
    std::uint64_t number;
    bool operator>(const PendingBirth& other) const {
      return event.stamp != other.event.stamp ? event.stamp > other.event.stamp : number > other.number;
    }
  };

  bool turn();
  bool load(std::size_t thread);
  void split(ThreadStream& thread, const format::RingRecord& record);
  void split_move(const Event& event);
  void wait(ThreadStream& thread, Waiting bytes);
  void wait_from_start(ThreadStream& thread, Waiting bytes);
  void carry(ThreadStream& thread, const Event& base, const format::SmallTotals& flows, bool blocks = false);
  Event& add_event(const ThreadStream& thread, const format::RingRecord& record);
  void rest(ThreadStream& thread);
  void give(const Event& event) {
    ready_.push_back(event);
    ready_.back().ordinal = ++ordinal_;
  }

  bool follows_ = false;
  std::vector<ThreadStream> threads_;
  std::priority_queue<StreamTurn, std::vector<StreamTurn>, std::greater<>> turns_;
  std::priority_queue<PendingBirth, std::vector<PendingBirth>, std::greater<>> later_;
  std::optional<StreamTurn> now_; // before all of `turns_`: mostly one thread has several turns in a row
  std::vector<Event> ready_;
  Ordinal ordinal_ = 0;
  std::uint64_t moves_ = 0;
  Waiting from_start_;   // of threads that had flows before their first record
  Waiting waiting_;      // of all threads now, without `from_start_`: below 0 at times
  Waiting most_waiting_; // the maximum of `waiting_`
  std::uint64_t records_ = 0;
  bool end_known_ = true;
};

} // namespace memtrace::trace
