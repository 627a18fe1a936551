// Purpose: how much higher than the last ledger a peak has to be, so that it is worth a ledger. Pure.
#pragma once

#include <cstdint>

namespace memtrace::record {

// Returns the part of the last ledger's RSS by which a peak has to be higher. `since`: ns since that ledger.
// `cost`: its CPU time. `close`: a limit is close, so any peak may be the last one.
//
// A climb has many peaks, and only the last one counts. An import, whose RSS rises from 32 to 220 MiB, had 19
// ledgers of 2.8 ms when a rise of 1/16 was always enough. Later, a peak may come once and be the highest, so
// the part grows with the cube of the time. With the time itself, the ledger of falcon_adamw was 5 to 7 % below
// the peak, with the square 3.5 % in one of five runs.
constexpr std::uint64_t peak_part(std::uint64_t since, std::uint64_t cost, bool close) {
  constexpr std::uint64_t kLeast = 4, kLeastClose = 16, kMost = 192;
  constexpr std::uint64_t kFull = 150; // costs of a ledger, after which the part is kMost
  const std::uint64_t costs = since / (cost + 1);
  if (costs >= kFull) return kMost;
  const std::uint64_t part = close ? costs : costs * costs * costs * kMost / (kFull * kFull * kFull);
  const std::uint64_t least = close ? kLeastClose : kLeast;
  return part < least ? least : part > kMost ? kMost : part;
}

} // namespace memtrace::record
