// Purpose: finds out whether another process of the job still runs, by its pid or by its files.
// Runs: when recording begins, then on the background thread.
#pragma once

#include <cstdint>

namespace memtrace::record {

// True if another process has this pid and began before `unix_ns`, so it is the process that wrote the trace of
// that time. A process in another pid namespace is not found.
bool began_before(std::uint32_t pid, std::uint64_t unix_ns);

// Returns the start in HOST-PID-START, in ns of Unix time, and the pid; 0: the name is another.
std::uint64_t start_of(const char* stem, std::uint32_t* pid);

// Returns the Unix time in ns at which a process last wrote its trace or a window of it; 0: not known. `stem`
// is the path of the trace without its suffix. A process that runs writes twice a second, to one of these
// files.
std::uint64_t written_ns(const char* stem);

} // namespace memtrace::record
