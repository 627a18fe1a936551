// Purpose: finds memory that every step leaves behind.
#pragma once

#include "analyzer/findings/common/peak_candidate.h"

namespace memtrace::report {

// Returns `leak-per-step`, one finding for each leak: a site, or all sites of tensors born in the same steps.
// Tensors that were born in the same steps are one leak: what one graph keeps comes from several lines. The
// bytes per step exclude those of the first step that left some. The divisor is the number of steps from that
// step to the last such step. A site leaks if each quarter of the steps left some bytes, between half and one
// and a half times the mean of the four. A cache that fills, or one that keeps the last few, does not leak.
// The first of its `sentences` names the lines of each step. What the leak costs at the peak is not measured
// yet.
Findings find_leaks(ProcessAnalysis& analysis);
// Proposes these leaks again, each with the peak without what earlier steps left. Each of them is a finding,
// whatever that peak is.
PeakCandidates measure_leaks(ProcessAnalysis& analysis, const Findings& leaks);

} // namespace memtrace::report
