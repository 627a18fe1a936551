// Purpose: what the kernel says of this process, its cgroups and the machine, as segments of thread 0.
// Runs: on the background thread, and before there is one on the thread that begins to record.
#pragma once

#include <cstddef>
#include <cstdint>

#include "preload/kernel/limit_distance.h"

namespace memtrace::record {

enum class Depth : std::uint8_t {
  process, // /proc/self/status: some 30 us with the append
  groups,  // and of the cgroup and each ancestor its charge, some 30 us a level
  all,     // and their limits, the pressure, the machine, and whether the process is in another group now
};

// Reads and appends them; allocates nothing, keeps to static buffers. How close a limit is, by what was read.
// `near`: it is known to be, and the sample says so.
Closeness sample_now(Depth depth = Depth::all, bool near = false);

// Other records that the background thread makes, as one segment. False: not written.
bool append_samples(const format::RingRecord* records, std::size_t count);

// In a forked child: its trace starts anew.
void forget_samples();

} // namespace memtrace::record
