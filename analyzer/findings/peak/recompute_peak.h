// Purpose: what activation checkpointing makes again at the peak.
#pragma once

#include <vector>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// `recompute-peak`: activations that were made again are alive at the peak of tensors, and with segments half
// as long it would be 5 % lower: half of them, less what more inputs of segments take, for which all that
// forward left stands, logits aside.
Findings find_recompute(ProcessAnalysis& analysis);

} // namespace memtrace::report
