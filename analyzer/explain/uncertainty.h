// Purpose: by how much the figures of a process may be off, because its recorder dropped records.
#pragma once

#include <cstdint>
#include <string>

#include "analyzer/explain/process_analysis.h"

namespace memtrace::report {

// The truth lies within [figure - below, figure + above]. Bytes.
struct Uncertainty {
  std::uint64_t below = 0;
  std::uint64_t above = 0;
};

// Of what is held at the end, all memories together. The bytes of dropped heap blocks are in the flows of their
// threads, so they count; left are mappings and device memory, and what threads without a slot did last.
Uncertainty live_error(const ProcessAnalysis& analysis);
// Of the highest level of before: also what threads did between two of their records, and what was seen late.
Uncertainty peak_error(const ProcessAnalysis& analysis);
Uncertainty tensor_error(const ProcessAnalysis& analysis);

// Returns one paragraph for the top of a text report. Empty if nothing was dropped, nothing is damaged, and a
// kill left nothing out.
std::string uncertainty_text(const ProcessAnalysis& analysis);

} // namespace memtrace::report
