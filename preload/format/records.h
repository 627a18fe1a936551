// Purpose: what one event looks like, in a ring (fixed 64 bytes) and by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "preload/format/payload.h"

namespace memtrace::format {

enum class EventType : std::uint8_t {
#define EVENT(name, layout) name,
#include "preload/format/event_names.def"
};

// How bytes were got. `none` is a tensor block inside memory that is counted elsewhere.
enum class Kind : std::uint8_t {
#define KIND(name) name,
#include "preload/format/event_names.def"
};

// Why an event was not recorded; `stacks`: it was, with the outer part of its stack alone.
enum class Loss : std::uint8_t {
#define LOSS(name) name,
#include "preload/format/event_names.def"
};

enum class EndHow : std::uint8_t {
#define END_HOW(name) name,
#include "preload/format/event_names.def"
};

// What a row of a process's ledger holds.
enum class LedgerRow : std::uint8_t {
#define LEDGER_ROW(name, title) name,
#include "preload/format/event_names.def"
};

inline constexpr const char* kEventNames[] = {
#define EVENT(name, layout) #name,
#include "preload/format/event_names.def"
};
inline constexpr const char* kEventLayouts[] = {
#define EVENT(name, layout) layout,
#include "preload/format/event_names.def"
};
inline constexpr const char* kKindNames[] = {
#define KIND(name) #name,
#include "preload/format/event_names.def"
};
inline constexpr const char* kLossNames[] = {
#define LOSS(name) #name,
#include "preload/format/event_names.def"
};
inline constexpr const char* kEndNames[] = {
#define END_HOW(name) #name,
#include "preload/format/event_names.def"
};
inline constexpr const char* kLedgerRowNames[] = {
#define LEDGER_ROW(name, title) title,
#include "preload/format/event_names.def"
};
inline constexpr std::size_t kLedgerRows = sizeof(kLedgerRowNames) / sizeof(kLedgerRowNames[0]);
inline constexpr std::size_t kEventTypes = sizeof(kEventNames) / sizeof(kEventNames[0]);
inline constexpr std::size_t kKinds = sizeof(kKindNames) / sizeof(kKindNames[0]);
inline constexpr std::size_t kLosses = sizeof(kLossNames) / sizeof(kLossNames[0]);
inline constexpr std::size_t kEndHows = sizeof(kEndNames) / sizeof(kEndNames[0]);

// Ids are types. 0 means "none" for each of them.
enum class StackId : std::uint32_t {};
enum class TextId : std::uint32_t {};
enum class CodeId : std::uint32_t {};
enum class ModuleId : std::uint32_t {};

// Nanoseconds of CLOCK_MONOTONIC, made unique within a process: order and time in one figure.
// A death's stamp is drawn before the real call, a birth's after it.
using Stamp = std::uint64_t;

// Flags of birth, death and move.
inline constexpr std::uint16_t kTensor = 1;   // asked for by PyTorch's allocator: counts in `tensor`
inline constexpr std::uint16_t kNoAccess = 2; // PROT_NONE: a reservation, not memory
inline constexpr std::uint16_t kRange = 4;    // a death of [address, address + given), maybe part of a birth
inline constexpr std::uint16_t kReleased = 8; // a range death that has no birth to match is normal
inline constexpr std::uint16_t kSampled =
    16;                                     // a small block, in the flows already: its record says who holds it
inline constexpr std::uint16_t kArena = 32; // birth of a mapping: Python's, for its small objects
inline constexpr std::uint16_t kMemoryShift = 8; // high byte: memory, 0 host, n device n-1
// A snapshot lists at most so many `displaced` and so many `early_death`. A reader looks through all of them at
// a death: 100,000 took it more than a minute.
inline constexpr std::size_t kMostLate = 512;
// Flags of counters.
inline constexpr std::uint16_t kBefore = 1; // all of it came before recording began
inline constexpr std::uint16_t kBlocks = 2; // of blocks that had records: they are not in RingSlot.small
// Flags of phase_begin and phase_end.
inline constexpr std::uint16_t kAuto = 1;    // found by memtrace, not marked by the user
inline constexpr std::uint16_t kSkipped = 2; // an optimizer step that did not update
inline constexpr std::uint16_t kGradOff = 4;
inline constexpr std::uint16_t kClosure = 8; // an optimizer step that goes forward itself
// Flags of text.
inline constexpr std::uint16_t kTextMore = 0x100; // more chunks of this text follow; low byte: bytes here
inline constexpr std::size_t kTextChunk = 40;
// Flags of samples. Those of a cgroup have its level in the low byte, 0 the process's own, 1 its parent.
inline constexpr std::uint16_t kNearLimit = 0x100; // sample_process, sample_cgroup: taken more often, see there
inline constexpr std::uint16_t kVersionTwo = 0x200;          // sample_cgroup: of cgroup v2
inline constexpr std::uint16_t kWholeMachine = 0xFF;         // sample_pressure: in the place of a level
inline constexpr std::uint64_t kNotSaid = ~std::uint64_t{0}; // a figure that the kernel does not have; no limit
// Flags of sample_ledger and sample_resident.
inline constexpr std::uint16_t kLedgerLast = 1;   // sample_ledger: at the process's orderly end
inline constexpr std::uint16_t kLedgerAgain = 2;  // sample_ledger: the highest, said again in a new window
inline constexpr std::uint16_t kLedgerAsked = 4;  // sample_ledger: the allocator told what it keeps
inline constexpr std::uint16_t kRowShift = 8;     // sample_resident: high byte, a LedgerRow
inline constexpr std::uint16_t kRowIsSampled = 1; // sample_resident: from some of its parts
// Flags of stack.
inline constexpr std::uint16_t kPythonFrame = 1; // payload: CodeId, line; else a native return address

// One event as it lies in a ring. block_events.h and its siblings have a struct for the payload of each type.
struct RingRecord {
  std::uint32_t commit; // low 32 bits of sequence + 1; stored last, with release: then it is recorded
  std::uint8_t type;    // EventType
  std::uint8_t kind;    // Kind, Loss or EndHow, by type
  std::uint16_t flags;
  Stamp stamp;
  Payload payload;

  // Returns the payload as the fields of `Event`, which is the struct of this type. Valid as long as this is.
  template <class Event>
  const Event& as() const {
    return payload.as<Event>();
  }
  template <class Event>
  Event& as() {
    return payload.as<Event>();
  }
  // Makes this a record of `event`.
  template <class Event>
  void put(const Event& event) {
    type = static_cast<std::uint8_t>(Event::kType);
    payload.put(event);
  }
};
static_assert(sizeof(RingRecord) == 64);
static_assert(std::is_trivially_copyable_v<RingRecord>);

constexpr std::uint64_t halves(std::uint32_t low, std::uint32_t high) {
  return static_cast<std::uint64_t>(high) << 32 | low;
}
constexpr std::uint32_t low(std::uint64_t word) {
  return static_cast<std::uint32_t>(word);
}
constexpr std::uint32_t high(std::uint64_t word) {
  return static_cast<std::uint32_t>(word >> 32);
}

} // namespace memtrace::format
