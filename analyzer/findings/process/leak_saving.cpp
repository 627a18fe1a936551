// Purpose: what the peak would be without what a leak left.
#include "analyzer/findings/process/leak_saving.h"

#include <fmt/core.h>

#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {

Finding with_saving(const ProcessAnalysis& analysis, Finding leak, const LeadingPeak& leading,
                    const replay::Without& without, std::string_view what) {
  const replay::Peak& peak = peak_of(analysis, leading);
  const std::int64_t saved = replay::wrapping_sub(peak.bytes, without.peak);
  if (peak.bucket || !analysis.buckets.rows.empty() || saved <= 0) return leak;
  leak.evidence.push_back(fmt::format("the peak of {} bytes would be {} bytes without what earlier {} left",
                                      peak.bytes, without.peak, what));
  leak.sentences.insert(leak.sentences.begin() + 1,
                        fmt::format("The peak of {} is {} {}; without what earlier {} left {}: -{}.",
                                    leading.measure == replay::Measure::tensor ? "tensors" : "all allocations",
                                    size(leading.bytes), analysis.place(peak.path, peak.step), what,
                                    size(replay::wrapping_sub(leading.bytes, saved)), size(saved)));
  return leak;
}

} // namespace memtrace::report
