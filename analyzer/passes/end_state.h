// Purpose: how it stood when a trace ended: levels, the last allocations, the course up to there.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "analyzer/attribute/phase_rows.h"
#include "analyzer/replay/replay.h"
#include "analyzer/trace/kernel_samples.h"

namespace memtrace::replay {

// An allocation that counts.
struct RecentBirth {
  trace::Ordinal ordinal = 0;
  format::Stamp stamp = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  format::Kind kind = format::Kind::none;
  format::StackId stack{};
  PhasePosition place;
};

// Levels of the host at one instant; `anon` and the like only where it is a sample.
struct Moment {
  format::Stamp stamp = 0;
  Level level;
  Resident resident;
};

// How it stood when an allocation failed.
struct Refused {
  trace::Ordinal at = 0;
  PhasePosition place;
  Level level;               // of the memory it was asked of
  std::vector<RecentBirth> births; // in that memory: the last large ones, newest first
};

struct EndState {
  trace::Ordinal at = 0; // of the last event
  format::Stamp stamp = 0;
  PhasePosition place;                 // of the last thing the program did
  Level level;                         // of the host
  std::vector<RecentBirth> births;           // the last large ones, newest first
  std::optional<RecentBirth> newest;         // the newest large one that is alive
  std::optional<RecentBirth> shared;         // the same of shared memory
  std::uint64_t born_after_newest = 0; // bytes of large and small blocks, alive or not
  std::vector<Moment> course;          // over all of the time, and
  std::deque<Moment> late;             // closer together, of the end of it
  std::deque<Moment> sampled;          // the last samples, with the levels at them
  std::optional<Refused> refused;      // the last time
  trace::Samples samples;

  // The level at, or just before, an instant.
  const Moment* before(format::Stamp instant) const;
  // The last sample that was taken before an instant.
  const Moment* sample_before(format::Stamp instant) const;
};

inline constexpr std::uint64_t kLarge = 1 << 20; // bytes

// One pass. Memory grows with live blocks.
EndState collect_end_state(const trace::Trace& trace);

} // namespace memtrace::replay
