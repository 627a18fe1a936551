// Purpose: finds gradients of the step before that a forward holds.
#include "analyzer/findings/peak/kept_gradients.h"

#include <fmt/core.h>

#include "analyzer/explain/thresholds.h"
#include "analyzer/findings/common/finding_at_peak.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

using replay::KnownPhase;
using replay::MemoryId;

SiteTotals earlier_gradients(const ProcessAnalysis& analysis, const replay::Holdings& alive,
                             replay::Step step) {
  SiteTotals out;
  for (const replay::Holding& holding : alive) // largest first
    if (holding.tensor && holding.role == replay::Role::gradient &&
        holding.born_known == KnownPhase::backward && holding.born_step < step)
      out.add(analysis, holding);
  return out;
}

std::optional<Finding> judge_gradients(ProcessAnalysis& analysis, MemoryId memory, const SiteTotals& gradients,
                                       const replay::Without& without) {
  const replay::Peak& peak = analysis.account.peaks.at(memory).tensor;
  const std::int64_t saved = replay::wrapping_sub(peak.bytes, without.peak);
  if (!worthwhile(saved, peak.bytes)) return std::nullopt;
  Finding finding = finding_at(analysis, "gradients-kept-through-forward", memory, peak);
  set_blocks(finding, gradients);
  finding.title =
      fmt::format("Gradients of the step before live through the forward: {}{} at the peak, made at {}",
                  sized(gradients.bytes), times_parameters(analysis, gradients.bytes),
                  analysis.symbolizer->site(gradients.site).line());
  finding.evidence = {
      fmt::format("{} bytes in {} gradients of an earlier step, alive at the peak of {} bytes", gradients.bytes,
                  gradients.blocks, peak.bytes),
      fmt::format("the peak would be {} bytes if they were freed before the forward", without.peak)};
  finding.sentences = {fmt::format("The peak of tensors is {} {}; with an earlier zero_grad() {}.",
                                   size(peak.bytes), analysis.place(peak.path, peak.step), size(without.peak))};
  finding.remedy = fmt::format(
      "optimizer.zero_grad(set_to_none=True) right after optimizer.step(), before the forward: -{} at the peak",
      size(saved));
  finding.no_remedy = "zero_grad(set_to_none=False): it writes zeros and keeps the memory";
  return finding;
}

void propose_gradients_in(ProcessAnalysis& analysis, MemoryId memory, PeakCandidates& out) {
  const replay::Peak& peak = analysis.account.peaks.at(memory).tensor;
  if (peak.bytes <= 0 || peak.bucket || peak.step == replay::Step::none) return;
  const SiteTotals gradients =
      earlier_gradients(analysis, analysis.set({memory, replay::Measure::tensor, peak.at}), peak.step);
  if (!worthwhile(static_cast<std::int64_t>(gradients.bytes), peak.bytes)) return;
  replay::Excluded excluded{.memory = memory, .stacks = gradients.stacks, .born = KnownPhase::backward};
  excluded.until_backward = true;
  out.push_back({std::move(excluded), [&analysis, memory, gradients](const replay::Without& without) {
                   return judge_gradients(analysis, memory, gradients, without);
                 }});
}

} // namespace

PeakCandidates propose_kept_gradients(ProcessAnalysis& analysis) {
  return in_each_memory(analysis, propose_gradients_in);
}

} // namespace memtrace::report
