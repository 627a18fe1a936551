// Purpose: the peak of one memory that the reports lead with: of tensors, or of all allocations.
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/explain/process_analysis.h"

namespace memtrace::report {

struct LeadingPeak {
  replay::MemoryId memory = 0;
  replay::Measure measure = replay::Measure::live;
  std::int64_t reserved = 0; // bytes of reservations that were never touched, alive at the peak of `live`
  std::int64_t bytes = 0;    // of the measure; of `live` without these reservations
};

// Tensors lead if they are at least half of the memory's peak.
LeadingPeak leading_peak(const ProcessAnalysis& analysis, replay::MemoryId memory);
// Returns the peak of all allocations, whatever leads.
LeadingPeak live_peak(const ProcessAnalysis& analysis, replay::MemoryId memory);
const replay::Peak& peak_of(const ProcessAnalysis& analysis, const LeadingPeak& leading);

// Returns the blocks that were alive at the leading peak, and those alive at the end: at the death, else at the
// highest point of the last step, else at the end of the trace.
const replay::Holdings& alive_at_peak(const ProcessAnalysis& analysis, const LeadingPeak& leading);
const replay::Holdings& alive_at_end(const ProcessAnalysis& analysis, const LeadingPeak& leading);

// True if the process died, and its death is about this memory: then the end is the death.
bool died_with(const ProcessAnalysis& analysis, replay::MemoryId memory);
// Returns the bytes that the blocks of these stacks held at the end, whether tensors or not.
std::int64_t held_at_end(const ProcessAnalysis& analysis, replay::MemoryId memory,
                         const std::vector<format::StackId>& stacks);

// Returns the bytes of the blocks that have one of these stacks.
std::int64_t bytes_of(const replay::Holdings& alive, const std::vector<format::StackId>& stacks);

} // namespace memtrace::report
