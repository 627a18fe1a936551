// Purpose: the layout of one event in a ring (fixed 64 bytes), and the names of types, kinds and flags.
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

// The way in which the program got the bytes. `none`: a tensor's block inside memory that is counted elsewhere.
enum class Kind : std::uint8_t {
#define KIND(name) name,
#include "preload/format/event_names.def"
};

// The reason why an event was not recorded. `stacks`: it was recorded, but only with the outer part of its
// stack.
enum class Loss : std::uint8_t {
#define LOSS(name) name,
#include "preload/format/event_names.def"
};

enum class EndHow : std::uint8_t {
#define END_HOW(name) name,
#include "preload/format/event_names.def"
};

// The part of the process's RSS that a row of a ledger measures.
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

// Each id has its own type. The value 0 means "none" in each of them.
enum class StackId : std::uint32_t {};
enum class TextId : std::uint32_t {};
enum class CodeId : std::uint32_t {};
enum class ModuleId : std::uint32_t {};

// A native frame with this address ends the frames of an evaluation of an autograd node. Its callers are those
// of the forward call that made the node.
inline constexpr std::uint64_t kForwardCall = 1;

// Nanoseconds of CLOCK_MONOTONIC, made unique within a process, so that one figure gives order and time. A
// death's stamp is drawn before the real call, a birth's stamp after it.
using Stamp = std::uint64_t;

// Flags of birth, death and move.
inline constexpr std::uint16_t kTensor = 1;   // requested by PyTorch's allocator: counts in `tensor`
inline constexpr std::uint16_t kNoAccess = 2; // PROT_NONE: a reservation, not memory
inline constexpr std::uint16_t kRange = 4;    // a death of [address, address + given), maybe a part of a birth
inline constexpr std::uint16_t kReleased = 8; // a range death without a matching birth is normal here
inline constexpr std::uint16_t kSampled =
    16;                                     // a small block that the flows contain; the record gives its stack
inline constexpr std::uint16_t kArena = 32; // birth of a mapping that Python made for its small objects
inline constexpr std::uint16_t kCollected = 64;  // death in a collection of Python's garbage
inline constexpr std::uint16_t kMemoryShift = 8; // high byte: memory, 0 host, n device n-1
// The most `displaced` records, and the most `early_death` records, of a snapshot. A reader searches all of
// them at each death: with 100,000 it took more than a minute.
inline constexpr std::size_t kMostLate = 512;
// Flags of counters.
inline constexpr std::uint16_t kBefore = 1; // all of these flows came before recording began
inline constexpr std::uint16_t kBlocks = 2; // flows of blocks that had records: not in RingSlot.small
// Flags of phase_begin and phase_end.
inline constexpr std::uint16_t kAuto = 1;    // found by memtrace, not marked by the user
inline constexpr std::uint16_t kSkipped = 2; // an optimizer step that did not update
inline constexpr std::uint16_t kGradOff = 4;
inline constexpr std::uint16_t kClosure = 8;  // an optimizer step that runs the forward itself
inline constexpr std::uint16_t kInstant = 16; // phase_begin: a snapshot of the user; no phase begins
// Flags of text.
inline constexpr std::uint16_t kTextMore = 0x100; // more chunks of this text follow; low byte: bytes here
inline constexpr std::size_t kTextChunk = 40;
// Flags of samples. The low byte of a cgroup's sample is its level: 0 is the process's own cgroup, 1 its
// parent.
inline constexpr std::uint16_t kNearLimit = 0x100;  // sample_process, sample_cgroup: more frequent near a limit
inline constexpr std::uint16_t kVersionTwo = 0x200; // sample_cgroup: of cgroup v2
inline constexpr std::uint16_t kWholeMachine = 0xFF; // sample_pressure: the machine, instead of a level
inline constexpr std::uint16_t kCountsOfLevel =
    0x80; // sample_pressure: more than any level; see SampleWaitsEvent
inline constexpr std::uint16_t kCountsOfProcess = 0xFE;      // sample_pressure: the process, instead of a level
inline constexpr std::uint64_t kNotSaid = ~std::uint64_t{0}; // the kernel has no such figure, or no limit
// Flags of sample_ledger and sample_resident.
inline constexpr std::uint16_t kLedgerLast = 1;   // sample_ledger: at the process's orderly end
inline constexpr std::uint16_t kLedgerAgain = 2;  // sample_ledger: the highest, repeated in a new window
inline constexpr std::uint16_t kLedgerAsked = 4;  // sample_ledger: the allocator reported what it retains
inline constexpr std::uint16_t kRowShift = 8;     // sample_resident: high byte, a LedgerRow
inline constexpr std::uint16_t kRowIsSampled = 1; // sample_resident: measured on some of its parts
// Flags of stack.
inline constexpr std::uint16_t kPythonFrame = 1; // payload: CodeId, line; else a native return address

// One event in a ring. block_events.h and the headers beside it have a struct for the payload of each type.
struct RingRecord {
  std::uint32_t commit; // low 32 bits of sequence + 1; stored last, with release, which makes the record valid
  std::uint8_t type;    // EventType
  std::uint8_t kind;    // Kind, Loss or EndHow, by type
  std::uint16_t flags;
  Stamp stamp;
  Payload payload;

  // Returns the payload as the fields of `Event`, the struct of this type. The reference is valid as long as
  // this object.
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
