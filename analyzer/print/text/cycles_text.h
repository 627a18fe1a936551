// Purpose: writes the cycles that memtrace guessed as a sentence.
#pragma once

#include <string>

#include "analyzer/explain/process_analysis.h"

namespace memtrace::report {

// Returns "" if memtrace guessed no cycles; printable.
std::string cycles_text(ProcessAnalysis& analysis);

} // namespace memtrace::report
