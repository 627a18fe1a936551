// Room: record. Runs inside the victim's malloc.
// Job: where every record goes: the cold log, a ring, or nowhere.
#pragma once

#include "preload/format/event.h"
#include "preload/record/thread.h"

namespace memtrace::record {

enum class State : std::uint8_t {
  inert, // not traced, or over: hooks pass through
  cold,  // too small to leave a file
  hot,   // recording
};
extern constinit std::uint8_t state_value; // a State; hooks read it on every call

inline State state() {
  return static_cast<State>(__atomic_load_n(&state_value, __ATOMIC_ACQUIRE));
}
inline bool active() {
  return state() != State::inert;
}
void enter(State next);

// Writes `record` (type, kind, flags, words and stamp set) for the calling thread, with the small flows since
// its last one: in the record when it is a birth or a death, before it otherwise. Guard held. False: it is
// lost, and counted by reason and by its bytes.
bool emit(format::RingRecord& record);
// The same without flows, into the ring: a definition, which must come before what uses it, or flows by
// themselves.
void emit_bare(format::RingRecord& record);
// The record of these flows.
format::RingRecord counters_of(const format::SmallTotals& flows, format::Stamp stamp);
// Publishes the flows that an ended thread left. Returns false if some are left. Threads lock held.
bool publish_left_over(Thread& thread);

// Moves the rough level of a memory, by which recording begins. Bytes.
void level(unsigned memory, std::int64_t change);
std::int64_t level_of(unsigned memory);
std::int64_t host_level();
// Bytes of births since the start, or since the fork that made this process.
std::int64_t flows_since_fork();
void reset_flows();
// Bytes of live tensors as given (a free does not say what was asked), for a forked child to start from.
void tensor_level(std::int64_t change);
std::int64_t tensor_level();

// True if some level has reached MEMTRACE_MIN_PEAK.
bool is_large_enough();
// True once a cold process is large enough, and old enough if it is a forked child.
bool due_to_begin();

} // namespace memtrace::record
