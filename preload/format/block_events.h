// Purpose: the fields of the events about blocks and mappings.
// docs/trace-format.md lists the kinds and flags that each event may have.
#pragma once

#include "preload/format/records.h"

namespace memtrace::format {

// Flows of the blocks that are too small for records of their own, as running totals of one thread. A record
// carries the flows since the thread's last record. After a kill, these totals minus the carried flows give the
// flows after the last record.
struct SmallTotals {
  std::uint64_t allocated; // bytes, usable size
  std::uint64_t freed;
  std::uint64_t births;
  std::uint64_t deaths;
};

// Flows like SmallTotals, but each figure is below 2^32, so that a birth or a death can carry them.
struct CarriedFlows {
  std::uint32_t allocated; // bytes, usable size
  std::uint32_t freed;
  std::uint32_t births;
  std::uint32_t deaths;

  constexpr SmallTotals totals() const { return {allocated, freed, births, deaths}; }
};

// The first fields of a birth and of a death.
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
  TextId module; // of the model, whose call made the block; 0: none
  CarriedFlows flows;
};

struct DeathEvent {
  static constexpr EventType kType = EventType::death;
  std::uint64_t address;
  std::uint64_t given; // bytes; 0: unknown
  std::uint64_t unused[2];
  CarriedFlows flows;
};

// A realloc or an mremap. The record's stamp is the stamp of the death at `from`.
struct MoveEvent {
  static constexpr EventType kType = EventType::move;
  std::uint64_t from;
  std::uint64_t to;
  std::uint64_t given;        // bytes at `to`
  std::uint64_t asked;        // bytes
  std::uint64_t given_before; // bytes at `from`; with kRange, 0 means that the mapping at `from` stays
  StackId stack;
  std::uint32_t birth_after; // ns from the death to the birth at `to`

  constexpr DeathEvent death() const { return {from, given_before, {}, {}}; }
  constexpr BirthEvent birth() const { return {to, given, asked, stack, TextId{}, {}}; }
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

// Flows of small blocks since the thread's last record, if no birth or death carries them.
struct CountersEvent {
  static constexpr EventType kType = EventType::counters;
  SmallTotals flows;
};

struct LabelEvent {
  static constexpr EventType kType = EventType::label;
  std::uint64_t address;
  std::uint64_t bytes; // of the labelled range; the block may be larger
  TextId role;
  TextId name;
  TextId module; // of the model, that the tensor belongs to; 0: none, or not said
  std::uint32_t unused;
};

// The memory that a caching allocator holds.
struct ReservedEvent {
  static constexpr EventType kType = EventType::reserved;
  std::uint64_t allocated; // bytes in use
  std::uint64_t reserved;  // bytes held, in use or not
};

// An allocation that failed for lack of memory.
struct FailureEvent {
  static constexpr EventType kType = EventType::failure;
  std::uint64_t asked;     // bytes
  std::uint32_t code;      // errno, or the CUDA error
  std::uint32_t map_flags; // MAP_* of an mmap; 0 for other calls
  StackId stack;
  std::uint32_t unused;
  std::uint64_t live;  // bytes that the recorder counted at that moment
  std::uint64_t free;  // device: its free bytes; host: the bytes that the resource limit left
  std::uint64_t total; // device: all its bytes; host: the resource limit; kNotSaid: no limit was met
};

static_assert(offsetof(BirthEvent, flows) == offsetof(DeathEvent, flows));

// Returns the flows that a birth or a death carries.
inline CarriedFlows carried_by(const RingRecord& record) {
  return record.as<DeathEvent>().flows;
}
// Makes a birth or a death carry `flows`.
inline void set_carried(RingRecord& record, const CarriedFlows& flows) {
  record.payload.as<DeathEvent>().flows = flows;
}

} // namespace memtrace::format
