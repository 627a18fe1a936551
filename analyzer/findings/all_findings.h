// Purpose: the proven causes of a process's peaks and of its end.
#pragma once

#include <optional>
#include <string>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// Returns first what ended the process, then the causes, the largest first, then findings that state a fact. If
// the remedy of a cause does not lower the peak, the cause is not a finding.
Findings find(ProcessAnalysis& analysis);

// True if the finding states a fact and no cause of a peak or of a death.
bool states_a_fact(const Finding& finding);

// Returns the memory that interests the reader: `asked`, else the memory of the first finding, else the memory
// with the highest peak of tensors.
replay::MemoryId main_memory(const ProcessAnalysis& analysis, const Findings& findings,
                             const std::optional<std::string>& asked);

} // namespace memtrace::report
