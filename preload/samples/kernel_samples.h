// Purpose: the kernel's figures of this process, its cgroups and the machine, as segments of thread 0.
// Runs: on the background thread; before it starts, on the thread that begins to record.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/kernel/limit_distance.h"

namespace memtrace::record {

enum class Depth : std::uint8_t {
  process, // /proc/self/status: some 30 us with the append
  groups,  // also the charge of the cgroup and of each ancestor, some 30 us a level
  all,     // also their limits, the pressure, the machine, and whether the process changed its group
};

// Reads the figures and appends them. Uses static buffers and does not allocate. Returns how close the limits
// are. `near`: a limit is known to be close, and the sample says so.
Closeness sample_now(Depth depth = Depth::all, bool near = false);

// Appends other records of the background thread as one segment. Returns false if they were not written.
bool append_samples(const format::RingRecord* records, std::size_t count);

// Resets the state in a forked child, whose trace is new.
void forget_samples();

} // namespace memtrace::record
