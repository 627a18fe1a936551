// Purpose: the requests of the program's threads to the background thread.
// Runs: on any thread, also inside a hook.
#pragma once

#include <cstdint>

namespace memtrace::record {

// The background thread sleeps on this word (a futex), which changes with each request.
extern constinit std::uint32_t bell;
// Changes with each request for a pass. It changes before the bell does.
extern constinit std::uint32_t passes_wanted;
// Wakes the background thread for a pass, and for a sample if one is requested.
void wake_drain();
// Wakes it for a look at RSS, or for a turn of a ledger, without a pass.
void wake_for_look();
// The background thread's id. The kernel sets it to 0 when the thread has ended.
extern constinit std::uint32_t drain_tid;
inline bool drain_is_running() {
  return __atomic_load_n(&drain_tid, __ATOMIC_ACQUIRE) != 0;
}

// Starts the background thread again if that is due. Called at each tracked event; costs one load if nothing is
// due.
void keep_drain_running();
// Sets the time (os::monotonic_ns) at which a start is due; 0: not due.
void set_drain_due(std::uint64_t time);

enum class Sample : std::uint8_t { none, process, all };
// Returns the requested sample.
Sample asked_sample();
// Requests a sample of the process, unless a sample is requested already.
void ask_for_sample();
// Called when an allocation failed. Requests a sample of all limits, and wakes the background thread unless
// such a sample was requested already.
void request_full_sample();
void forget_asked_sample();

} // namespace memtrace::record
