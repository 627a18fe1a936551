// Purpose: finds memory that every step leaves behind.
#pragma once

#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// Returns `leak-per-step`, one finding for each leak: a site, or all sites of tensors born in the same steps.
// Tensors that were born in the same steps are one leak: what one graph keeps comes from several lines. The
// bytes per step exclude those of the first step that left some. The divisor is the number of steps from that
// step to the last such step. A site leaks if each quarter of the steps left some bytes, between half and one
// and a half times the mean of the four. A cache that fills, or one that keeps the last few, does not leak.
Findings find_leaks(ProcessAnalysis& analysis);

} // namespace memtrace::report
