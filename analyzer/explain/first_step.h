// Purpose: what the first step with an update added for good, and what only it needed.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "analyzer/explain/holder_rows.h"
#include "analyzer/explain/process_analysis.h"

namespace memtrace::report {

// Returns the stacks that allocated after a step, as far as the blocks alive at the examined instants show.
std::unordered_set<format::StackId> stacks_made_after(const ProcessAnalysis& analysis, replay::Step step);

struct FirstStep {
  replay::Step step = replay::Step::none;
  std::vector<replay::Step> typical; // the steps that are alike
  std::int64_t for_good = 0;         // bytes of its blocks that a typical step still holds
  std::int64_t only_then = 0;        // bytes of its blocks that a typical step neither holds nor makes again
  std::vector<HolderRow> good_rows, only_then_rows; // the largest first
};

// Compares the blocks alive at the highest points of both steps, by the measure that the reports lead with.
// Leaves out the blocks of `leaked` stacks: they are a trend. Requires steady steps (see steady_step). Makes
// one pass over the trace.
FirstStep compare_first_step(ProcessAnalysis& analysis, replay::MemoryId memory,
                             const std::vector<format::StackId>& leaked);

} // namespace memtrace::report
