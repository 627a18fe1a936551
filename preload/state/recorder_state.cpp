// Purpose: the state of the recorder: it does nothing, keeps events in memory, or writes them to files.
// Runs: at the start and end of a process, and once when recording begins.
#include "preload/state/recorder_state.h"

#include "preload/os/gate/start_page.h"
#include "preload/state/fork_mark.h"
#include "preload/state/settings.h"

namespace memtrace::record {

ON_START_PAGE constinit std::uint8_t state_value = static_cast<std::uint8_t>(State::disabled);

void enter(State next) {
  const std::size_t below = settings.exact_min < kMostSmall ? settings.exact_min : kMostSmall;
  fork_mark->small_below = next > State::waiting ? below : 0;
  __atomic_store_n(&state_value, static_cast<std::uint8_t>(next), __ATOMIC_RELEASE);
}

} // namespace memtrace::record
