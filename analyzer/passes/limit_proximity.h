// Purpose: how near the first steps came to the limit of a cgroup.
#pragma once

#include <optional>

#include "analyzer/replay/replay.h"

namespace memtrace::replay {

struct Nearest {
  Step step = Step::none;
  std::uint64_t used = 0; // without page cache, which the kernel can reclaim
  std::uint64_t limit = 0;
  format::TextId group{}; // path of the cgroup
  bool within(double share) const { return static_cast<double>(used) >= share * static_cast<double>(limit); }
};

// Returns the sample of steps 0 to `last` that was nearest to a limit, in one pass. Returns nullopt if there
// was no limit or no sample.
std::optional<Nearest> nearest_limit(const trace::Trace& trace, Step last);

} // namespace memtrace::replay
