// Purpose: finds memory that reference cycles held until Python's collector ran.
#pragma once

#include "analyzer/findings/common/peak_candidate.h"

namespace memtrace::report {

// Proposes the blocks of earlier steps that were alive at the leading peak of a memory, and that a collection
// freed later.
PeakCandidates propose_freed_by_gc(ProcessAnalysis& analysis);

} // namespace memtrace::report
