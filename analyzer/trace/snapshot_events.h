// Purpose: the events of a window's snapshot, by their types.
#pragma once

#include "preload/format/records.h"

namespace memtrace::trace {

// True if the event states a level, a block or a phase of the state when a window began.
constexpr bool is_snapshot_state(format::EventType type) {
  using enum format::EventType;
  return type == level || type == open_phase || type == held || type == displaced || type == early_death;
}

// True if the event begins such a snapshot or is part of it.
constexpr bool is_of_snapshot(format::EventType type) {
  return type == format::EventType::window || is_snapshot_state(type);
}

} // namespace memtrace::trace
