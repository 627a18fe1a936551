// Purpose: the fields of the records with which a window begins, and of steps whose events were dropped.
#pragma once

#include "preload/format/block_events.h"

namespace memtrace::format {

struct CoarseEvent {
  static constexpr EventType kType = EventType::coarse;
  StackId stack;
  TextId phase;
  std::uint32_t first_step;
  std::uint32_t last_step;
  std::uint64_t count; // dropped events
  std::uint64_t sum;   // bytes
  std::uint64_t min;   // bytes
  std::uint64_t max;   // bytes
};

struct WindowEvent {
  static constexpr EventType kType = EventType::window;
  std::uint32_t number;              // from 1; the trace file is 0
  std::uint32_t step_plus_1;         // 0: no step yet
  Stamp until;                       // the snapshot holds up to this stamp
  std::uint32_t stepped;             // 1: an optimizer's step has returned in this step
  std::uint32_t first_update_plus_1; // first step that updated; 0: none yet
  std::uint64_t unlisted;            // number of live blocks that have no `held` record
};

struct LevelEvent {
  static constexpr EventType kType = EventType::level;
  std::int64_t live; // bytes
  std::int64_t tensor;
  std::int64_t reserved;
  std::int64_t small; // the part of the host's `live` that only flows account for
};

// A block that was alive when the window began.
struct HeldEvent {
  static constexpr EventType kType = EventType::held;
  std::uint64_t address;
  std::uint64_t given;
  std::uint64_t asked;
  StackId stack;
  TextId role;               // 0: no label
  TextId path;               // phases, joined by 0x1F; 0: none
  std::uint32_t step_plus_1; // of its birth; 0: before any step
  Stamp birth;
};

// A block or mapping with a newer one at its address. It is not in any level now.
struct DisplacedEvent {
  static constexpr EventType kType = EventType::displaced;
  std::uint64_t address;
  std::uint64_t given;
  std::uint64_t asked;
  StackId stack;
  TextId role;
  Stamp by; // birth of the newer one
  Stamp birth;
};

// The end of a block or mapping whose birth comes later.
struct EarlyDeathEvent {
  static constexpr EventType kType = EventType::early_death;
  std::uint64_t address;
  std::uint64_t given; // bytes; 0: a sampled block
  std::uint64_t unused[3];
  Stamp death;
};

// A phase that was open when the window began. Records come thread by thread, outermost phase first. The thread
// that last began or ended a phase comes last.
struct OpenPhaseEvent {
  static constexpr EventType kType = EventType::open_phase;
  std::uint32_t thread;
  TextId name;
  std::uint32_t depth_before;
  std::uint32_t step_plus_1; // at its begin
  Stamp begin;
};

// The flows that the records of this thread carried so far.
struct FlowsEvent {
  static constexpr EventType kType = EventType::flows;
  std::uint32_t thread;
  std::uint32_t unused;
  SmallTotals carried;
};

} // namespace memtrace::format
