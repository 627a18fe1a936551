// Purpose: what the threads of the program ask of the background thread.
// Runs: on any thread, also inside a hook.
#pragma once

#include <cstdint>

namespace memtrace::record {

// The background thread sleeps on this word (a futex), which changes when there is something to do.
extern constinit std::uint32_t bell;
void wake_drain();
// Its id, which the kernel clears when the thread is gone.
extern constinit std::uint32_t drain_tid;
inline bool drain_is_running() {
  return __atomic_load_n(&drain_tid, __ATOMIC_ACQUIRE) != 0;
}

// Starts it again when that is due. One load when nothing is to do. From a tracked event.
void keep_drain_running();
// Makes it due at `time` (os::monotonic_ns); 0: not due.
void set_drain_due(std::uint64_t time);

enum class Sample : std::uint8_t { none, process, all };
// The sample that is asked for.
Sample asked_sample();
// Asks for one of the process, if none is asked for.
void ask_for_sample();
// An allocation failed: asks for one of all limits, and wakes the background thread if none was asked for.
void request_full_sample();
void forget_asked_sample();

} // namespace memtrace::record
