// Purpose: what a trace proves about the causes of a process's peaks and of its end.
#pragma once

#include <optional>
#include <string>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// First what a death proves, then what peaks prove, the largest first. A cause whose remedy does not lower the
// peak is not a finding.
Findings find(ProcessAnalysis& analysis);

// The memory a reader came for: the one asked for, that of the first finding, else where the tensors are.
replay::MemoryId main_memory(const ProcessAnalysis& analysis, const Findings& findings,
                             const std::optional<std::string>& asked);

} // namespace memtrace::report
