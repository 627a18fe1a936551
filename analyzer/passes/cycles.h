// Purpose: the cycles of a program that marks no phase, found from the pattern of its allocations.
#pragma once

#include <optional>
#include <vector>

#include "analyzer/replay/replay.h"

namespace memtrace::replay {

// From one birth of the anchor's site to the next one. Bytes are those of the host.
struct Cycle {
  trace::Ordinal begin = 0;
  format::Stamp stamp = 0;
  std::int64_t entry = 0;      // live
  std::int64_t peak = 0;       // live
  std::uint64_t allocated = 0; // in blocks with a record of their own
};

// A guess: no event says that a cycle begins.
struct Cycles {
  format::StackId anchor{}; // a stack of the site whose births begin the cycles
  std::vector<Cycle> each;  // complete cycles, ascending
  trace::Ordinal end = 0;   // the birth that ended the last complete cycle
  format::Stamp ended = 0;  // its stamp
  std::int64_t exit = 0;    // live then
};

// The medians of the cycles after the first one.
struct TypicalCycle {
  std::int64_t entry = 0;
  std::int64_t transient = 0; // the peak above the entry
  std::int64_t net = 0;
  std::uint64_t allocated = 0;
  std::uint64_t duration = 0; // ns
};

// Returns the cycles, in two passes, or nullopt after one pass if the program does not repeat itself until its
// end. A site is the Python frames of a stack, or all frames and the size if it has no Python frame. See
// repeated_sites.h for the rules. The cycles together take at least half of the time from the first one to the
// end.
std::optional<Cycles> find_cycles(const trace::Trace& trace);

TypicalCycle typical_cycle(const Cycles& cycles);

// Returns what the cycle left, in bytes. `index`: in `each`.
std::int64_t net_of(const Cycles& cycles, std::size_t index);

} // namespace memtrace::replay
