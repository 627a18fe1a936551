// Purpose: the proven causes of a process's peaks and of its end.
#pragma once

#include <optional>
#include <string>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// Returns first what ended the process, then the causes, the largest first, then facts without a remedy. If the
// remedy of a cause does not lower the peak, the cause is not a finding.
Findings find(ProcessAnalysis& analysis);

// Returns the memory that interests the reader: `asked`, else the memory of the first finding, else the memory
// with the highest peak of tensors.
replay::MemoryId main_memory(const ProcessAnalysis& analysis, const Findings& findings,
                             const std::optional<std::string>& asked);

} // namespace memtrace::report
