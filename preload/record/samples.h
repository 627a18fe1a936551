// Room: record. The background thread only.
// Job: what the kernel says of this process and its cgroup, as segments of thread 0.
#pragma once

namespace memtrace::record {

// Reads /proc/self/status, some 30 us with the append, and with `groups` the memory controller's files, v1 or
// v2, of the cgroup and its ancestors, which cost that much for each level; appends them.
void sample_now(bool groups = true);

// In a forked child: its trace starts anew.
void forget_samples();

} // namespace memtrace::record
