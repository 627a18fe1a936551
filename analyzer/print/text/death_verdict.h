// Purpose: states in one sentence how a process ended, and the finding that was its cause.
#pragma once

#include <string>

#include "analyzer/explain/process_analysis.h"
#include "analyzer/findings/common/finding.h"

namespace memtrace::report {

// Returns the finding with this id, or null.
const Finding* finding_of(const Findings& findings, const char* id);

// Returns the largest cause that held at least a fifth of the live bytes at the death, or null. The second copy
// of a checkpoint comes first: its remedy is the most specific. `analysis` must have a death.
const Finding* find_cause(const ProcessAnalysis& analysis, const Findings& findings);

// Returns the phase and the step of the death. `analysis` must have one.
std::string place_of_death(const ProcessAnalysis& analysis);

// Returns the first line of a post-mortem.
std::string death_verdict(ProcessAnalysis& analysis, const Findings& findings);

} // namespace memtrace::report
