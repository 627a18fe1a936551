// Purpose: the state of the recorder: it does nothing, keeps events in memory, or writes them to files.
// Runs: inside each hook.
#pragma once

#include <cstdint>

#include "preload/state/upcalls.h"

namespace memtrace::record {

enum class State : std::uint8_t {
  disabled,  // not traced, or recording has ended: hooks pass through
  waiting,   // the recorder starts with the first event (docs/decisions/0078)
  buffering, // keeps events in memory: the process is too small to leave a file
  recording, // writes events to files
};
// A State; hooks read it on every call. Has a name for the assembly of hooks/libc/process_calls.cpp.
[[gnu::visibility("hidden")]] extern constinit std::uint8_t state_value __asm__("memtrace_state");

inline State state() {
  return static_cast<State>(__atomic_load_n(&state_value, __ATOMIC_ACQUIRE));
}
// The first question starts the recorder.
inline bool active() {
  const State now = state();
  if (now == State::waiting) [[unlikely]]
    return begin_life();
  return now != State::disabled;
}
// Does not start the recorder. True if it has started, and the process is traced.
inline bool has_begun() {
  return state() > State::waiting;
}
void enter(State next);

} // namespace memtrace::record
