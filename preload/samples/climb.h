// Purpose: whether the memory of this process climbs, and for how long it did.
// Runs: on the background thread.
#pragma once

#include "preload/kernel/climbing_time.h"

namespace memtrace::record {

// `resident`: RSS now, or as it was last read.
void look_at_climb(std::uint64_t now, std::uint64_t resident);
const ClimbingTime& climb();
// Called in a forked child.
void forget_climb();

} // namespace memtrace::record
