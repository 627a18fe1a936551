// Purpose: finds out whether another process of the job still runs.
// Runs: when recording begins, then on the background thread.
#pragma once

#include <cstdint>

namespace memtrace::record {

// True if another process has this pid and began before `unix_ns`, so it is the process that wrote the trace of
// that time. A process in another pid namespace is not found.
bool began_before(std::uint32_t pid, std::uint64_t unix_ns);

} // namespace memtrace::record
