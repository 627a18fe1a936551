// Purpose: finds optimizer states that appear in the first step, when there is hardly room for them.
#pragma once

#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// Returns `optimizer-states-first-step`. In its first two steps the process died for memory, or came within 10
// % of the limit of a cgroup or a GPU. At least 5 % of the bytes held then were optimizer states that these
// steps had made.
Findings find_states(ProcessAnalysis& analysis);

} // namespace memtrace::report
