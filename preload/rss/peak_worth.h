// Purpose: how much higher than the last ledger a peak has to be, so that it is worth a ledger. Pure.
#pragma once

#include <cstdint>

namespace memtrace::record {

// Returns the part of the last ledger's RSS by which a peak has to be higher. `since`: ns since that ledger.
// `cost`: its CPU time. `close`: a limit is close, so any peak may be the last one.
//
// A climb has many peaks, and only the last one counts. So a rise of 1 part in P is worth a ledger only after
// kWorth * P times its cost. An import, whose RSS rises from 32 to 220 MiB, had 19 ledgers of 2.8 ms when that
// was the cost alone.
constexpr std::uint64_t peak_part(std::uint64_t since, std::uint64_t cost, bool close) {
  constexpr std::uint64_t kWorth = 16, kLeast = 4, kLeastClose = 16, kMost = 192;
  const std::uint64_t part = since / ((cost + 1) * (close ? 1 : kWorth));
  const std::uint64_t least = close ? kLeastClose : kLeast;
  return part < least ? least : part > kMost ? kMost : part;
}

} // namespace memtrace::record
