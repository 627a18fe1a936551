// Purpose: what a thread of this process may do, by the kernel's own word.
// Runs: on the background thread, and in the constructor.
#pragma once

#include <cstdint>

namespace memtrace::record {

struct ThreadPrivileges {
  bool known = false;            // false: /proc does not say, or the thread has ended
  std::uint64_t credentials = 0; // hash of its ids, groups, capabilities and no_new_privs
  std::uint64_t filters = 0;     // seccomp filters; before Linux 5.9 one for all of them
  bool strict = false;           // seccomp's strict mode
};

// One thread at a time.
ThreadPrivileges privileges_of(int thread);

// Before there are threads: the filters that this process started with.
std::uint64_t filters_at_start();

} // namespace memtrace::record
