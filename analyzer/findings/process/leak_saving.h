// Purpose: what the peak would be without what a leak left.
#pragma once

#include <string_view>

#include "analyzer/explain/leading_peak.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// Returns the leak with the peak without what earlier steps or events left: as evidence, and as its second
// sentence. `what`: "steps" or "events". Returns it unchanged if that does not lower the peak, or if the trace
// has only rows of some steps.
Finding with_saving(const ProcessAnalysis& analysis, Finding leak, const LeadingPeak& leading,
                    const replay::Without& without, std::string_view what);

} // namespace memtrace::report
