// Purpose: the state of the recorder: it does nothing, keeps events in memory, or writes them to files.
// Runs: inside each hook.
#pragma once

#include <cstdint>

namespace memtrace::record {

enum class State : std::uint8_t {
  disabled,  // not traced, or recording has ended: hooks pass through
  buffering, // keeps events in memory: the process is too small to leave a file
  recording, // writes events to files
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
