// Room: record. Runs inside the victim's malloc.
// Job: what was dropped, and why. Totals live in the ring file once there is one, so they outlive the process.
#pragma once

#include "format/event.h"

namespace memtrace::record {

// Adds `events` to the running total of its reason. Any thread, any time.
void lost(format::Loss reason, std::uint64_t events = 1);

std::uint64_t lost_so_far(format::Loss reason);

// From now on the totals are kept at `totals` (kLosses counters); what was counted before is added to it.
void keep_losses_in(std::uint64_t* totals);

} // namespace memtrace::record
