// Purpose: finds memory that each save, evaluation or other recurring event leaves behind.
#pragma once

#include <unordered_set>

#include "analyzer/findings/common/peak_candidate.h"

namespace memtrace::report {

struct EventLeakCandidates {
  PeakCandidates each;                        // one for each `leak-per-event`; each becomes a finding
  std::unordered_set<format::StackId> stacks; // of all their blocks
};

// Returns the leaks of recurring events. The replay measures the peak without what earlier events left.
EventLeakCandidates propose_event_leaks(ProcessAnalysis& analysis);

} // namespace memtrace::report
