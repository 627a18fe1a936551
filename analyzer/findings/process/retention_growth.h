// Purpose: finds free memory that the allocator keeps, and that grows because later blocks do not reuse it.
#pragma once

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// Returns `retention-growth`, or nothing. The evidence is the row "kept by the allocator" of at least four
// ledgers before the orderly end. It rises by 128 MiB and a quarter of RSS. It rises in both halves of their
// time by a quarter of that, and at no ledger by more than half of it. It never falls by more than an eighth of
// it. If it finds that growth, it reads the events once more, for the reason.
Findings find_retention_growth(const ProcessAnalysis& analysis);

} // namespace memtrace::report
