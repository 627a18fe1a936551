// Purpose: the figures of phases that have not ended, and how they become a row when they end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/attribute/growing_rows.h"
#include "analyzer/replay/highest_since.h"
#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::replay {

// The levels of one measure in one phase that ended.
struct PhaseLevels {
  std::int64_t entry = 0;
  std::int64_t peak = 0;
  trace::Ordinal peak_at = 0;
};

struct EntryLevels { // levels of one memory when a phase began
  std::int64_t live = 0;
  std::int64_t tensor = 0;
  std::int64_t reserved = 0;
  std::int64_t used = kNotShown;
};

inline constexpr auto kLevel = [](std::int64_t level) { return level; };
inline constexpr auto kResidentSum = [](const Resident& resident) { return resident.sum(); };
using HighestLevel = HighestSince<std::int64_t, kLevel>;

struct HighestLevels { // of one memory
  HighestLevel live;
  HighestLevel tensor;
  HighestLevel reserved;
  HighestLevel used;
  HighestLevel asked; // `live`, while the figure of `used` was current
};

struct OpenPhase {
  GrowingRow* row;
  bool again;                         // it continues after a gap, as one occurrence
  trace::Ordinal began;               // after this event
  std::vector<EntryLevels> memory;    // of the memories used by then; later ones began at 0
  std::optional<Resident> resident{}; // of the first sample; nullopt: none yet
};

inline void merge(Figures& row, const PhaseLevels& span, std::int64_t exit, bool first) {
  const std::int64_t transient = wrapping_sub(span.peak, std::max(span.entry, exit));
  if (first) row.entry = span.entry;
  if (first || span.peak > row.peak) row.peak = span.peak, row.peak_at = span.peak_at;
  row.transient = first ? transient : std::max(row.transient, transient);
  row.exit = exit;
  row.net = wrapping_add(row.net, wrapping_sub(exit, span.entry));
}

// As merge(), for `used`. The peak of the row is known if that of each occurrence is.
inline void merge_used(Figures& row, const PhaseLevels& span, std::int64_t exit, bool first) {
  const std::int64_t peak = first ? span.peak : higher_use(row.peak, span.peak);
  merge(row, span, exit, first);
  row.peak = peak;
}

} // namespace memtrace::replay
