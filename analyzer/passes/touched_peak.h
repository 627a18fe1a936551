// Purpose: the highest level of the host, without address space that was reserved and never touched.
#pragma once

#include <cstdint>

#include "analyzer/trace/trace.h"

namespace memtrace::replay {

// Returns the highest level of all allocations of the host. It is without the reservations that were alive then
// and never touched, and without the bytes that a forked process got from its parent. Takes one pass, and a
// second one if the process had made a mapping that may be such a reservation.
std::uint64_t touched_peak(const trace::Trace& trace);

} // namespace memtrace::replay
