// Purpose: the peak of one memory that the reports lead with: of tensors, or of all allocations.
#include "analyzer/explain/leading_peak.h"

#include <algorithm>

#include "analyzer/explain/leak_steps.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/torch_snapshot_text.h"

namespace memtrace::report {

using replay::Measure;

LeadingPeak live_peak(const ProcessAnalysis& analysis, replay::MemoryId memory) {
  const replay::Peak& live = analysis.account.peaks.at(memory).live;
  LeadingPeak out{.memory = memory};
  out.reserved = static_cast<std::int64_t>(untouched(analysis.set({memory, Measure::live, live.at})));
  out.bytes = replay::wrapping_sub(live.bytes, out.reserved);
  return out;
}

LeadingPeak leading_peak(const ProcessAnalysis& analysis, replay::MemoryId memory) {
  const replay::MemoryPeaks& peaks = analysis.account.peaks.at(memory);
  LeadingPeak out = live_peak(analysis, memory);
  // of a snapshot of PyTorch, `live` has only the segments
  const bool may_lead = peaks.tensor.bytes >= out.bytes / 2 || torch_history(analysis.facts());
  if (peaks.tensor.bytes <= 0 || !may_lead) return out;
  out.measure = Measure::tensor;
  out.bytes = peaks.tensor.bytes;
  return out;
}

const replay::Peak& peak_of(const ProcessAnalysis& analysis, const LeadingPeak& leading) {
  const replay::MemoryPeaks& peaks = analysis.account.peaks.at(leading.memory);
  return leading.measure == Measure::tensor ? peaks.tensor : peaks.live;
}

const replay::Holdings& alive_at_peak(const ProcessAnalysis& analysis, const LeadingPeak& leading) {
  return analysis.set({leading.memory, leading.measure, peak_of(analysis, leading).at});
}

const replay::Holdings& alive_at_end(const ProcessAnalysis& analysis, const LeadingPeak& leading) {
  if (died_with(analysis, leading.memory))
    return analysis.set({leading.memory, leading.measure, analysis.death->then.at});
  return analysis.set(end_instant(analysis.account, leading.memory, leading.measure));
}

bool died_with(const ProcessAnalysis& analysis, replay::MemoryId memory) {
  return analysis.death && analysis.death->then.memory == memory;
}

std::int64_t held_at_end(const ProcessAnalysis& analysis, replay::MemoryId memory,
                         const std::vector<format::StackId>& stacks) {
  LeadingPeak leading = leading_peak(analysis, memory);
  if (memory == 0) leading.measure = Measure::live; // on a device, `live` has segments instead of blocks
  return bytes_of(alive_at_end(analysis, leading), stacks);
}

std::int64_t bytes_of(const replay::Holdings& alive, const std::vector<format::StackId>& stacks) {
  std::int64_t out = 0;
  for (const replay::Holding& holding : alive)
    if (std::find(stacks.begin(), stacks.end(), holding.stack) != stacks.end())
      out = replay::wrapping_add(out, static_cast<std::int64_t>(holding.bytes - holding.untouched));
  return out;
}

} // namespace memtrace::report
