// Purpose: the fields of the events that say in which phase and step a thread is.
#pragma once

#include "preload/format/records.h"

namespace memtrace::format {

struct PhaseBeginEvent {
  static constexpr EventType kType = EventType::phase_begin;
  TextId name;
  std::uint32_t depth_before; // phases that were open on this thread
};

// Ends the innermost phase of that name on this thread.
struct PhaseEndEvent {
  static constexpr EventType kType = EventType::phase_end;
  TextId name;
  std::uint32_t depth_after; // phases that stay open on this thread
};

// A step begins.
struct StepEvent {
  static constexpr EventType kType = EventType::step;
  std::uint64_t number;
};

} // namespace memtrace::format
