// Purpose: finds data that was serialized to memory instead of a file.
#pragma once

#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// Returns `serialize-in-memory`. The peak of the host has bytes that torch.save wrote to a buffer, safetensors
// made a string of, or pickle made of a tensor. The blocks that the same line of the program made for it count
// too. Without all of them the peak is 5 % lower.
Findings find_serialized(ProcessAnalysis& analysis);

} // namespace memtrace::report
