// Purpose: the fields of the events that say what became of a block or a mapping.
// docs/trace-format.md says which kinds and flags each may have.
#pragma once

#include "preload/format/records.h"

namespace memtrace::format {

// Flows of blocks too small to be recorded one by one, running totals of one thread.
// A record carries what was added since the thread's last one; what is left over after the last
// record of a killed process is the difference to these totals.
struct SmallTotals {
  std::uint64_t allocated; // bytes, usable size
  std::uint64_t freed;
  std::uint64_t births;
  std::uint64_t deaths;
};

// The same where each figure is below 4 GiB, so that a birth or a death can carry it.
struct CarriedFlows {
  std::uint32_t allocated; // bytes, usable size
  std::uint32_t freed;
  std::uint32_t births;
  std::uint32_t deaths;

  constexpr SmallTotals totals() const { return {allocated, freed, births, deaths}; }
};

// What a birth and a death begin with.
struct BlockExtent {
  std::uint64_t address;
  std::uint64_t given; // bytes
};

struct BirthEvent {
  static constexpr EventType kType = EventType::birth;
  std::uint64_t address;
  std::uint64_t given; // bytes: usable size, or whole pages
  std::uint64_t asked; // bytes
  StackId stack;
  std::uint32_t unused;
  CarriedFlows flows;
};

struct DeathEvent {
  static constexpr EventType kType = EventType::death;
  std::uint64_t address;
  std::uint64_t given; // bytes; 0: unknown
  std::uint64_t unused[2];
  CarriedFlows flows;
};

// realloc or mremap. The record's stamp is that of the death at `from`.
struct MoveEvent {
  static constexpr EventType kType = EventType::move;
  std::uint64_t from;
  std::uint64_t to;
  std::uint64_t given;        // bytes at `to`
  std::uint64_t asked;        // bytes
  std::uint64_t given_before; // bytes at `from`; with kRange 0: the mapping stays there, too
  StackId stack;
  std::uint32_t birth_after; // ns from the death to the birth at `to`

  constexpr DeathEvent death() const { return {from, given_before, {}, {}}; }
  constexpr BirthEvent birth() const { return {to, given, asked, stack, 0, {}}; }
};

struct ProtectEvent {
  static constexpr EventType kType = EventType::protect;
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint32_t protection; // PROT_*
  std::uint32_t unused;
};

struct AdviseEvent {
  static constexpr EventType kType = EventType::advise;
  std::uint64_t address;
  std::uint64_t bytes;
  std::uint32_t advice; // MADV_*
  std::uint32_t unused;
};

// Flows of small blocks since the thread's last record, where no birth or death carries them.
struct CountersEvent {
  static constexpr EventType kType = EventType::counters;
  SmallTotals flows;
};

struct LabelEvent {
  static constexpr EventType kType = EventType::label;
  std::uint64_t address;
  std::uint64_t bytes; // of what was labelled; the block may be larger
  TextId role;
  TextId name;
};

// What a caching allocator holds.
struct ReservedEvent {
  static constexpr EventType kType = EventType::reserved;
  std::uint64_t allocated; // bytes in use
  std::uint64_t reserved;  // bytes held, in use or not
};

// An allocation that failed for want of memory.
struct FailureEvent {
  static constexpr EventType kType = EventType::failure;
  std::uint64_t asked;     // bytes
  std::uint32_t code;      // errno, or the error of CUDA
  std::uint32_t map_flags; // MAP_* of an mmap, else 0
  StackId stack;
  std::uint32_t unused;
  std::uint64_t live;  // bytes that the recorder counted at that moment
  std::uint64_t free;  // bytes of the device; of the host what the resource limit left
  std::uint64_t total; // bytes of the device; of the host the resource limit; kNotSaid: none was met
};

static_assert(offsetof(BirthEvent, flows) == offsetof(DeathEvent, flows));

// Returns the flows that a birth or a death carries.
inline CarriedFlows carried_by(const RingRecord& record) {
  return record.as<DeathEvent>().flows;
}
// Lets a birth or a death carry these.
inline void set_carried(RingRecord& record, const CarriedFlows& flows) {
  record.payload.as<DeathEvent>().flows = flows;
}

} // namespace memtrace::format
