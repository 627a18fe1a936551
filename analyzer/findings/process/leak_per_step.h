// Purpose: what every step leaves behind.
#pragma once

#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// `leak-per-step`, one for each site. Bytes are per step: what was born behind the first step that has some, up
// to the last, over the steps between the two. A site leaks when each quarter of the steps left some of it
// behind, between half and one and a half times the mean of the four: a cache that fills, or one that keeps the
// last few, does not.
Findings find_leaks(ProcessAnalysis& analysis);

} // namespace memtrace::report
