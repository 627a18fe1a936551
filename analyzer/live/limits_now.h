// Purpose: the limits of a process that runs, and how much of each is used now.
#pragma once

#include <vector>

#include "analyzer/follow/followed_trace.h"
#include "analyzer/live/live_state.h"

namespace memtrace::live {

// Returns the limits that the trace knows: of cgroups, of the process, of the machine, of its GPUs. The use is
// from samples of the kernel; of a GPU it is what this process got. Does not predict.
std::vector<LimitNow> limits_now(const trace::FollowedTrace& trace, const std::vector<MemoryNow>& memories);

} // namespace memtrace::live
