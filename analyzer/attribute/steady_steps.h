// Purpose: the steps that are alike by their figures, and the medians of their figures.
#pragma once

#include <vector>

#include "analyzer/attribute/phase_accounting.h"

namespace memtrace::replay {

struct Steady {
  std::vector<Step> steps;          // alike, ascending; fewer than two: there is no steady state
  Step representative = Step::none; // the step nearest to the medians; its peaks represent all
  std::size_t compared = 0;         // steps, these among them
  std::vector<Row> rows;            // medians, one per path; peak_at are those of the representative
};

// Returns the steps that are alike. Candidates are the steps after the first update of an optimizer, because
// that step creates states and caches. If no optimizer updated, they are the steps after the first one. Only
// candidates with the most common set of phases remain. Of these, a step is steady if each peak and transient
// of its phases is within 1 MiB or 1 % of the median. Peaks and transients are those of `tensor` if the trace
// has tensors, else of `live`. An exceptional step (an eval, a save) has other phases, so it is left out. If
// memory drifts slowly, only the steps with figures near the median remain.
Steady steady(const Account& account);

} // namespace memtrace::replay
