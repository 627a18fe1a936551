// Purpose: the levels of a phase without reservations that were never touched, as the headlines count.
#pragma once

#include "analyzer/explain/process_analysis.h"

namespace memtrace::report {

// Returns the figures of `live` less what of reservations was never touched at the phase's entry, peak and
// exit. The row must have an end in the recorded events: a row of the rollup has none.
replay::Figures allocated_figures(const ProcessAnalysis& analysis, const replay::Row& row,
                                  replay::MemoryId memory);

} // namespace memtrace::report
