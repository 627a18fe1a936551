// Purpose: the lists of temporaries that torch.optim's foreach path makes.
#pragma once

#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// `foreach-temporaries`: the peak of tensors is in an optimizer's step, one foreach call took a list of
// temporaries that are alive then, and without them the peak is 5 % lower.
Findings find_foreach(ProcessAnalysis& analysis);

} // namespace memtrace::report
