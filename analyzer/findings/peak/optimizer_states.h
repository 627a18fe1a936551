// Purpose: optimizer states that come in the first step, where there is hardly room for them.
#pragma once

#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// `optimizer-states-first-step`: the process died for memory in its first two steps, or came within 10 % of a
// limit in them (a cgroup's, a card's), and 5 % of what was held were optimizer states that these steps had
// made.
Findings find_states(ProcessAnalysis& analysis);

} // namespace memtrace::report
