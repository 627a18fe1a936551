// Purpose: what was written to memory that could have gone to a file.
#pragma once

#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// `serialize-in-memory`: at the peak of the host bytes are alive that torch.save wrote to a buffer, that
// safetensors made a string of, or that a tensor was pickled to, with what the same line of the program made
// for it; without them the peak is 5 % lower.
Findings find_serialized(ProcessAnalysis& analysis);

} // namespace memtrace::report
