// Purpose: bounds the time of one part of a scan of the program's address space. The next turn continues the
// scan.
// Runs: on the background thread.
#pragma once

#include <cstdint>

#include "preload/os/clocks.h"

namespace memtrace::record {

class Turn {
 public:
  // `ns` is CPU time of the calling thread, because on a busy machine other processes cause the waiting.
  // `wait`: if the program waits for this turn, the longest elapsed time; 0: no bound.
  explicit Turn(std::uint64_t ns, std::uint64_t wait = 0)
      : until_(os::thread_cpu_ns() + ns), latest_(wait == 0 ? 0 : os::monotonic_ns() + wait) {}
  bool is_over() const {
    return os::thread_cpu_ns() >= until_ || (latest_ != 0 && os::monotonic_ns() >= latest_);
  }

 private:
  std::uint64_t until_;
  std::uint64_t latest_; // 0: no bound
};

} // namespace memtrace::record
