// Purpose: how long one part of a look at the program's address space may take. The rest waits for the next
// turn.
// Runs: on the background thread.
#pragma once

#include <cstdint>

#include "preload/os/clocks.h"

namespace memtrace::record {

class Turn {
 public:
  // CPU time of the calling thread, for on a busy machine the wait is caused by others. `wait`: and where the
  // program waits for it, no longer than that by the clock.
  explicit Turn(std::uint64_t ns, std::uint64_t wait = 0)
      : until_(os::thread_cpu_ns() + ns), latest_(wait == 0 ? 0 : os::monotonic_ns() + wait) {}
  bool is_over() const {
    return os::thread_cpu_ns() >= until_ || (latest_ != 0 && os::monotonic_ns() >= latest_);
  }

 private:
  std::uint64_t until_;
  std::uint64_t latest_; // 0: whenever
};

} // namespace memtrace::record
