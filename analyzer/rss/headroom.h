// Purpose: how much of each memory limit the program needed, used and never used.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/explain/process_analysis.h"

namespace memtrace::report {

struct Headroom {
  std::string of;   // "cgroup", "address_space", "data", "node", "device"
  std::string name; // of the cgroup, the node or the GPU; "": the limit is the process's own
  replay::MemoryId memory = 0;
  std::uint64_t limit = 0;
  std::optional<std::uint64_t>
      needed;             // at most, without what is dropped when memory is short; nullopt: not known
  std::uint64_t used = 0; // at most
  bool soft = false;      // the limit delays instead of failing: memory.high

  std::uint64_t never_used() const { return limit - std::min(limit, used); }
};

// Returns the limits that the process had, those of the host before those of its GPUs. Cgroups come first, the
// one with the smallest limit before the others.
std::vector<Headroom> headrooms(const ProcessAnalysis& analysis);

} // namespace memtrace::report
