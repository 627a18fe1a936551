// Purpose: which steps the data says are alike, and their median.
#pragma once

#include <vector>

#include "analyzer/attribute/phase_accounting.h"

namespace memtrace::replay {

struct Steady {
  std::vector<Step> steps;          // alike, ascending; fewer than two: there is no steady state to speak of
  Step representative = Step::none; // the one nearest to the medians, whose peaks stand for all
  std::vector<Row> rows;            // medians, one per path; peak_at are those of the representative
};

// Candidates are the steps after the first in which an optimizer updated: that one makes states and caches.
// Of these, the ones with the commonest set of phases are taken, and of them those in which every phase's
// peak and transient is within 1 MiB or 1 % of the median over all (`tensor` where the trace has tensors,
// else `live`). With an odd step out (an eval, a save) its phases differ; with a slow drift the middle wins.
Steady steady(const Account& account);

} // namespace memtrace::replay
