// Purpose: what the steps of training lost to a lack of memory: pages read again, page faults, stalls.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "analyzer/replay/replay.h"

namespace memtrace::replay {

// From the first sample in a step to the last sample. Where few steps are between them, from the last sample
// before the first step; of the whole run if it has no steps.
struct MemoryWaits {
  Step first = Step::none, last = Step::none;
  format::Stamp from = 0, until = 0;
  std::uint64_t refaulted = 0;    // bytes of files that the process's cgroup lost and read again
  std::uint64_t swapped_in = 0;   // bytes of anonymous memory
  std::uint64_t major_faults = 0; // of the process
  std::uint64_t all_faults = 0;   // of the cgroup
  std::uint64_t throttled = 0;    // how often memory.high delayed a task
  // ns in which a task of the cgroup, else of the machine, waited for memory; nullopt: the kernel does not say
  std::optional<std::uint64_t> stalled;
  bool stalled_in_group = false;
  format::StackId mapped_by{}; // of the largest file mapping
  std::uint64_t mapped = 0;    // its bytes
  std::map<format::TextId, std::uint64_t>
      held; // the most bytes of each cgroup that the kernel could not drop, by path

  std::uint64_t read_again() const { return refaulted + swapped_in; }
  std::uint64_t steps() const {
    return first == Step::none ? 0 : static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first) + 1;
  }
  double seconds() const { return static_cast<double>(until - from) / 1e9; }
};

// Returns nullopt if the samples have no counts of a cgroup.
std::optional<MemoryWaits> memory_waits(const trace::Trace& trace);

} // namespace memtrace::replay
