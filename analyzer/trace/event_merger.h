// Purpose: the threads' records, merged by stamp into one sequence of events.
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

// The place of an event in the merged sequence, from 1. The same in every pass over one Trace, and unique
// where stamps of a damaged trace may not be: levels and lifetimes are told in these.
using Ordinal = std::uint64_t;

// One thing that happened. A record of the trace may be several: the small flows that a birth or death
// carries come before it as `counters`, a block's `move` comes as a death and, at its own stamp, a birth. A
// mapping's `move` takes it from its old place, and a birth with the flag `range` and without a kind, at its
// own stamp, puts down at the new place what the thread took. Words are as in docs/trace-format.md; births and
// deaths given here carry no small flows.
struct Event {
  Ordinal ordinal = 0;
  format::Stamp stamp = 0;
  format::EventType type = format::EventType::none;
  format::Kind kind = format::Kind::none;
  std::uint8_t raw_kind = 0; // EndHow for `end`
  std::uint16_t flags = 0;
  bool after_gap = false; // records of this thread were lost before it
  std::uint32_t thread = 0;
  format::Payload payload{};

  // Returns the payload as the fields of `Fields`, which is the struct of this type. Valid as long as this is.
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

// The record as one event, not split, without its place in the order.
Event event_of(std::uint32_t thread, const format::RingRecord& record);

struct OrderCounts {
  std::uint64_t records = 0; // of the trace, before they were split
  std::uint64_t missing = 0; // known by gaps in sequence numbers
  // By how many bytes a level may be too low and too high between two records.
  std::uint64_t too_low = 0;
  std::uint64_t too_high = 0;
  // True if the ring slots hold what each thread did after its last record: then the level of the end is exact.
  bool end_known = true;
  std::uint64_t small_error() const { return std::max(too_low, too_high); }
};

// What a merge goes on from.
struct Beginning {
  Ordinal ordinal = 0;                                // of the last event before it
  std::map<std::uint32_t, format::SmallTotals> small; // what each thread's records carried before it
};

// A merge over all threads. Holds one decoded segment for each thread that is in the middle of one.
// A thread whose stamps run backwards is given in its own order: its records are never reordered.
class Order {
 public:
  explicit Order(const Streams& streams, const Beginning& beginning = {});

  // The next events, some hundreds at a time: none after the last. Valid until the next call.
  std::span<const Event> next();
  // Complete once next() has returned false.
  OrderCounts counts() const;
  std::uint64_t records() const { return records_; } // so far
  Ordinal ordinal() const { return ordinal_; }       // of the event last given

 private:
  struct Waiting { // bytes of small flows that come with the next record; as words, so that a sum may wrap
    std::uint64_t allocated = 0;
    std::uint64_t freed = 0;
  };
  static Waiting waiting_in(const format::RingRecord& record);

  struct ThreadStream {
    const Stream* stream;
    Cursor cursor;
    format::RingRecord head{};
    bool loaded = false;
    bool begun = false; // a record was loaded that tells what came since recording began
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
  void carry(ThreadStream& thread, const Event& base, const format::SmallTotals& flows);
  void rest(ThreadStream& thread);
  void give(const Event& event) {
    ready_.push_back(event);
    ready_.back().ordinal = ++ordinal_;
  }

  std::vector<ThreadStream> threads_;
  std::priority_queue<StreamTurn, std::vector<StreamTurn>, std::greater<>> turns_;
  std::priority_queue<PendingBirth, std::vector<PendingBirth>, std::greater<>> later_;
  std::optional<StreamTurn> now_; // before all of `turns_`: most often a thread's next record follows its last one
  std::vector<Event> ready_;
  Ordinal ordinal_ = 0;
  std::uint64_t moves_ = 0;
  Waiting from_start_;   // of threads that had flows before their first record
  Waiting waiting_;      // of all threads now, less `from_start_`: below 0 at times
  Waiting most_waiting_; // and at most
  std::uint64_t records_ = 0;
  bool end_known_ = true;
};

} // namespace memtrace::trace
