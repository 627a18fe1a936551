// Purpose: draws stamps, which are both the time and a total order of the events of a process.
// Runs: inside the program's malloc.
#pragma once

#include "preload/format/records.h"
#include "preload/os/clocks.h"

namespace memtrace::record {

inline constinit format::Stamp last_stamp = 0;

// Returns CLOCK_MONOTONIC in ns, but greater than each stamp drawn before in this process. The stamp of a death
// is drawn before the real call, the stamp of a birth after it. Then no thread can see an address born before
// it died in another thread. Eight threads of reallocs had 16 to 44 impossible transitions in 96,000 events
// when the death was drawn after the call. In this order they had 0.
inline format::Stamp draw_stamp() {
  const format::Stamp now = os::monotonic_ns();
  format::Stamp last = __atomic_load_n(&last_stamp, __ATOMIC_RELAXED);
  for (;;) {
    const format::Stamp mine = now > last ? now : last + 1;
    if (__atomic_compare_exchange_n(&last_stamp, &last, mine, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return mine;
  }
}

} // namespace memtrace::record
