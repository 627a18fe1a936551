// Purpose: the highest peak of a memory that has another cause than the peak that the reports lead with.
#include "analyzer/explain/next_peak.h"

#include <algorithm>

#include "analyzer/explain/thresholds.h"
#include "analyzer/passes/local_peaks.h"
#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::report {
namespace {

std::string user_line_at(ProcessAnalysis& analysis, format::StackId stack) {
  return stack == format::StackId{} ? "" : analysis.symbolizer->site(stack).own_line;
}

// True in a phase that each training step has: there, the peaks of all steps have one cause.
bool is_phase_of_step(const ProcessAnalysis& analysis, const replay::LocalPeak& peak) {
  using enum replay::KnownPhase;
  const replay::Paths& paths = analysis.account.paths;
  const replay::KnownPhase known = replay::known_phase(paths.text(paths.last(peak.path)));
  return peak.step != replay::Step::none && known != none && known != load && known != init;
}

// Returns the peaks of the leading measure, without another pass if the first one followed them.
std::vector<replay::LocalPeak> peaks_of(const ProcessAnalysis& analysis, const LeadingPeak& leading,
                                        std::int64_t depth) {
  if (analysis.peak_history)
    if (auto known = analysis.peak_history->peaks(leading.memory, leading.measure, depth))
      return *std::move(known);
  return replay::local_peaks(*analysis.trace, leading.memory, leading.measure, depth);
}

} // namespace

std::optional<NextPeak> next_peak(ProcessAnalysis& analysis, const LeadingPeak& leading) {
  const replay::Peak& highest = peak_of(analysis, leading);
  if (highest.bytes <= 0 || highest.bucket || !analysis.buckets.rows.empty()) return std::nullopt;
  const auto depth = static_cast<std::int64_t>(kWorthwhile * static_cast<double>(highest.bytes));
  const std::vector<replay::LocalPeak> all = peaks_of(analysis, leading, std::max<std::int64_t>(depth, 1));
  const auto leads =
      std::find_if(all.begin(), all.end(), [&](const replay::LocalPeak& one) { return one.at == highest.at; });
  if (leads == all.end()) return std::nullopt;
  const bool phase_of_step = is_phase_of_step(analysis, *leads);
  const std::string line = user_line_at(analysis, leads->stack);
  const replay::LocalPeak* best = nullptr;
  for (const replay::LocalPeak& one : all)
    if (one.bytes >= highest.bytes / 2 && (best == nullptr || one.bytes > best->bytes) &&
        (one.path != leads->path || (!phase_of_step && user_line_at(analysis, one.stack) != line)))
      best = &one;
  if (best == nullptr) return std::nullopt;
  NextPeak out{{best->bytes, best->at, 0, best->path, best->step, std::nullopt}, best->bytes, {}, {}};
  out.line = user_line_at(analysis, best->stack);
  const replay::Instant then{leading.memory, leading.measure, best->at};
  out.alive = alive_at(analysis, {then})[then];
  if (leading.measure == replay::Measure::live)
    out.bytes = replay::wrapping_sub(out.bytes, static_cast<std::int64_t>(untouched(out.alive)));
  return out;
}

} // namespace memtrace::report
