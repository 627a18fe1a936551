// Purpose: bounds the error of a process's figures if its recorder dropped records.
#pragma once

#include <cstdint>
#include <string>

#include "analyzer/explain/process_analysis.h"

namespace memtrace::report {

// The true value is within [figure - below, figure + above], in bytes.
struct Uncertainty {
  std::uint64_t below = 0;
  std::uint64_t above = 0;
};

// Returns the error of the bytes live at the end, all memories together. Dropped heap blocks count: their bytes
// are in the flows of their threads. The error comes from mappings, device memory and the last calls of threads
// without a slot.
Uncertainty live_error(const ProcessAnalysis& analysis);
// Returns the error of the peaks. Adds to live_error the changes between two records of a thread, and records
// that came late.
Uncertainty peak_error(const ProcessAnalysis& analysis);
Uncertainty tensor_error(const ProcessAnalysis& analysis);

// Returns one paragraph for the top of a text report, or "" if nothing was dropped or damaged and a kill lost
// nothing.
std::string uncertainty_text(const ProcessAnalysis& analysis);

} // namespace memtrace::report
