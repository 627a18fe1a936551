// Purpose: reads from /proc what a thread of this process may do, and how it ended.
// Runs: on the background thread, and in the constructor.
#pragma once

#include <cstdint>

namespace memtrace::record {

struct ThreadPrivileges {
  bool known = false;            // false: /proc does not say, or the thread has ended
  std::uint64_t credentials = 0; // hash of its ids, groups, capabilities and no_new_privs
  std::uint64_t filters = 0;     // number of seccomp filters; before Linux 5.9: 1 for all of them
  bool strict = false;           // seccomp's strict mode
  bool ended = false;            // and not yet released: the first thread, while there are others
  std::uint64_t threads = 0;     // of its process, the ended first thread included
};

// Only one thread may call this at a time.
ThreadPrivileges privileges_of(int thread);

// Returns the exit status of a thread that has ended and is not released yet; 0 if /proc does not say.
int exit_status_of(int thread);

// Returns the number of seccomp filters that this process started with. Called before there are other threads.
std::uint64_t filters_at_start();

} // namespace memtrace::record
