// Purpose: how many threads a command may keep busy.
#pragma once

#include <cstddef>

namespace memtrace::files {

// Returns the number of processors that this process may use, at most 8, or what limit_jobs() set.
std::size_t jobs();

// Sets the number of threads that work at the same time. 0: no limit was set.
void limit_jobs(std::size_t jobs);

// True if a thread that does a part of the caller's work would have a processor of its own.
bool has_spare_processor();

// Counts the calling thread as busy while it exists.
class BusyThread {
 public:
  BusyThread();
  ~BusyThread();
  BusyThread(const BusyThread&) = delete;
  BusyThread& operator=(const BusyThread&) = delete;
};

} // namespace memtrace::files
