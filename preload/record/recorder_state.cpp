// Runs: at the edges of a process's life, and once when recording begins.
// Purpose: whether the recorder does nothing, keeps events in memory, or writes them to files.
#include "preload/record/recorder_state.h"

#include "preload/record/fork_mark.h"
#include "preload/record/settings.h"

namespace memtrace::record {

constinit std::uint8_t state_value = static_cast<std::uint8_t>(State::inert);

void enter(State next) {
  fork_mark->small_below = next == State::inert ? 0 : settings.exact_min;
  __atomic_store_n(&state_value, static_cast<std::uint8_t>(next), __ATOMIC_RELEASE);
}

} // namespace memtrace::record
