// Room: fold. Pure: ids in, numbers out.
// Job: which steps a report shows when nobody asked for all.
#pragma once

#include <optional>
#include <vector>

#include "fold/steady.h"

namespace memtrace::fold {

struct StepRange { // inclusive
  std::uint64_t from = 0;
  std::uint64_t to = 0;
};

struct StepChoice {
  std::optional<StepRange> range;
  bool all = false;
};

struct Shown {
  std::vector<const Row*> rows; // of the account, in its order
  bool steady = false;          // and the medians
};

// By default what has no step, steps 0 and 1, those of the peaks, the last, and the steady ones.
Shown choose(const Account& account, const StepChoice& choice);

} // namespace memtrace::fold
