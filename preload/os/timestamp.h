// Purpose: draws stamps, which are both the time and the order of the events of a process.
// Runs: inside the program's malloc.
#pragma once

#include "preload/format/records.h"
#include "preload/os/clocks.h"

namespace memtrace::record {

// The last stamp that draw_from_all() drew.
inline constinit format::Stamp last_stamp = 0;
// The last stamp of this thread.
inline thread_local constinit format::Stamp own_stamp __attribute__((tls_model("initial-exec"))) = 0;

// Returns a stamp that is at least `time`, and greater than each stamp that this function returned before in
// this process.
inline format::Stamp draw_from_all(format::Stamp time) {
  format::Stamp last = __atomic_load_n(&last_stamp, __ATOMIC_RELAXED);
  for (;;) {
    const format::Stamp mine = time > last ? time : last + 1;
    if (__atomic_compare_exchange_n(&last_stamp, &last, mine, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return own_stamp = mine;
  }
}

// Draws from all threads, because the clock does not order them. If it did until now, it stood still between
// two readings of this thread, and is not used alone again.
[[gnu::cold, gnu::noinline]] inline format::Stamp draw_without_order(format::Stamp time) {
  os::clock_has_no_order();
  return draw_from_all(time > own_stamp ? time : own_stamp + 1);
}

// Returns CLOCK_MONOTONIC in ns, but greater than each stamp that this thread drew before, and than each stamp
// that another thread drew before it made something visible to this thread. Events that no thread could have
// seen in one order may have equal stamps; then the number of the thread is their order (decision 0080).
//
// The stamp of a death is drawn before the real call, the stamp of a birth after it. Then no thread can see an
// address born before it died in another thread. Eight threads of reallocs had 16 to 44 impossible transitions
// in 96,000 events when the death was drawn after the call. In this order they had 0.
inline format::Stamp draw_stamp() {
  const format::Stamp before =
      own_stamp; // read first: a signal handler may draw during the reading of the clock
  const format::Stamp now = os::monotonic_ns();
  if (now > before && os::clock_orders_threads()) [[likely]]
    return own_stamp = now;
  return draw_without_order(now);
}

// Returns a stamp for a pass. Each record with a lower stamp that another record depends on is visible to loads
// after this call. The processor may run a load before an earlier reading of its counter, so there is a fence.
inline format::Stamp draw_cut() {
  const format::Stamp cut = draw_stamp();
  __builtin_ia32_lfence();
  asm volatile("" ::: "memory");
  return cut;
}

} // namespace memtrace::record
