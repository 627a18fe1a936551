// Purpose: finds memory that a program replaces by a larger block again and again, as torch.cat does.
#pragma once

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// Returns `leak-per-step`, or `leak-per-event` if the process has too few steps or few of them rebuild the
// blocks. Only blocks that a join of arrays made count. `bytes` are per event. What grows in passes of a model
// outside of training must grow in most passes, and begin with no more than three times that growth. The keys
// and values of one generated text begin with those of its prompt.
Findings find_rebuilt_larger(ProcessAnalysis& analysis);

} // namespace memtrace::report
