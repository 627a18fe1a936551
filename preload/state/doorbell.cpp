// Purpose: the requests of the program's threads to the background thread.
// Runs: on any thread, also inside a hook.
#include "preload/state/doorbell.h"

#include "preload/os/clocks.h"
#include "preload/os/threads.h"
#include "preload/state/upcalls.h"

namespace memtrace::record {

constinit std::uint32_t bell = 0;
constinit std::uint32_t passes_wanted = 0;
constinit std::uint32_t drain_tid = 0;

namespace {

constinit std::uint64_t due = 0;
constinit std::uint8_t asked = 0; // a Sample

} // namespace

void wake_for_look() {
  __atomic_fetch_add(&bell, 1u, __ATOMIC_RELEASE);
  os::futex_wake(&bell);
}
void wake_drain() {
  __atomic_fetch_add(&passes_wanted, 1u, __ATOMIC_RELEASE);
  wake_for_look();
}

void keep_drain_running() {
  const std::uint64_t when = __atomic_load_n(&due, __ATOMIC_RELAXED);
  if (when != 0 && os::monotonic_ns() >= when) start_drain();
}

void set_drain_due(std::uint64_t time) {
  __atomic_store_n(&due, time, __ATOMIC_RELAXED);
}

Sample asked_sample() {
  return static_cast<Sample>(__atomic_load_n(&asked, __ATOMIC_ACQUIRE));
}

void ask_for_sample() {
  auto none = static_cast<std::uint8_t>(Sample::none);
  if (__atomic_load_n(&asked, __ATOMIC_RELAXED) != none) return; // without a locked instruction
  __atomic_compare_exchange_n(&asked, &none, static_cast<std::uint8_t>(Sample::process), false,
                              __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

void request_full_sample() {
  constexpr auto kAll = static_cast<std::uint8_t>(Sample::all);
  if (__atomic_exchange_n(&asked, kAll, __ATOMIC_ACQ_REL) != kAll) wake_drain();
}

void forget_asked_sample() {
  __atomic_store_n(&asked, static_cast<std::uint8_t>(Sample::none), __ATOMIC_RELEASE);
}

} // namespace memtrace::record
