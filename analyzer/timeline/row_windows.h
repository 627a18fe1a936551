// Purpose: chooses the parts of a run whose blocks the timeline stores one by one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/timeline/level_bins.h"

namespace memtrace::replay {

// A part of the run that a reader will want to see in full. The first of a list is the most important one.
struct Interest {
  trace::Ordinal from = 0, to = 0; // events, inclusive
  std::string why;                 // "the peak of host", "step 0"
};

// Consecutive bins without a gap between them.
struct RowWindow {
  std::size_t first_bin = 0, last_bin = 0;
  trace::Ordinal from = 0, to = 0; // events, inclusive
  std::string why;                 // of the most important interest in it
};

// Returns the windows in the order of the run: whole bins, with at most `most_blocks` births and deaths in
// all. Takes the interests in their order. The rest of the budget extends the windows on both sides.
std::vector<RowWindow> choose_windows(const LevelBins& bins, const std::vector<Interest>& interests,
                                      std::uint64_t most_blocks);

} // namespace memtrace::replay
