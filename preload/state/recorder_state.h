// Purpose: whether the recorder does nothing, keeps events in memory, or writes them to files.
// Runs: inside each hook.
#pragma once

#include <cstdint>

namespace memtrace::record {

enum class State : std::uint8_t {
  disabled, // not traced, or over: hooks pass through
  buffering,  // too small to leave a file
  recording,   // recording
};
extern constinit std::uint8_t state_value; // a State; hooks read it on every call

inline State state() {
  return static_cast<State>(__atomic_load_n(&state_value, __ATOMIC_ACQUIRE));
}
inline bool active() {
  return state() != State::disabled;
}
void enter(State next);

} // namespace memtrace::record
