// Room: record. The background thread only.
// Job: what the kernel says of this process and its cgroup, as segments of thread 0.
#pragma once

namespace memtrace::record {

// Reads /proc/self/status and the memory controller's files, v1 or v2, of the cgroup and its ancestors; appends
// them. A few file reads, 50 us or so.
void sample_now();

// In a forked child: its trace starts anew.
void forget_samples();

} // namespace memtrace::record
