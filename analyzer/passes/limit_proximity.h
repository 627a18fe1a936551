// Purpose: how near the first steps came to the limit of a cgroup.
#pragma once

#include <optional>

#include "analyzer/replay/replay.h"

namespace memtrace::replay {

struct Nearest {
  Step step = Step::none;
  std::uint64_t used = 0; // without page cache, which the kernel takes back
  std::uint64_t limit = 0;
  format::TextId group{}; // its path
  bool within(double share) const { return static_cast<double>(used) >= share * static_cast<double>(limit); }
};

// The sample of steps 0 to `last` that was nearest to a limit; none: there was no limit, or no sample. One
// pass.
std::optional<Nearest> nearest_limit(const trace::Trace& trace, Step last);

} // namespace memtrace::replay
