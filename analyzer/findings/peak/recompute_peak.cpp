// Purpose: finds the activations that checkpointing recomputes at the peak.
#include "analyzer/findings/peak/recompute_peak.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_set>

#include "analyzer/explain/thresholds.h"
#include "analyzer/findings/common/finding_at_peak.h"
#include "analyzer/findings/peak/loss_logits.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

using replay::Holding;
using replay::KnownPhase;
using replay::Measure;
using replay::MemoryId;

struct RecomputedSegment {
  std::uint64_t again = 0;  // recomputed bytes that wait for backward
  std::uint64_t blocks = 0; // blocks of these bytes
  format::StackId site{};   // the site that made most of them
  std::unordered_set<format::StackId> stacks;
  // bytes that twice as many segments would keep in addition: what forward left, and one input
  std::uint64_t inputs = 0;
};

RecomputedSegment segment_at(ProcessAnalysis& analysis, const replay::Holdings& alive) {
  RecomputedSegment out;
  const std::vector<replay::Sizes> of_loss = loss_sizes(analysis, alive);
  std::uint64_t one = 0;
  for (const Holding& holding : alive) { // largest first
    if (!holding.tensor || holding.role != replay::Role::activation) continue;
    if (holding.born_known == KnownPhase::recompute) {
      if (out.again == 0) out.site = holding.stack;
      out.again += holding.bytes;
      out.blocks += holding.blocks;
      out.stacks.insert(holding.stack);
    } else if (!has_one_of(holding, of_loss)) {
      out.inputs += holding.bytes;
      one = std::max(one, holding.largest);
    }
  }
  out.inputs += one; // forward did not allocate the input of the first segment
  return out;
}

std::optional<Finding> judge(ProcessAnalysis& analysis, MemoryId memory, const RecomputedSegment& segment,
                             const replay::Without& halved) {
  const replay::Peak& peak = analysis.account.peaks.at(memory).tensor;
  const auto again = static_cast<std::int64_t>(segment.again);
  const std::int64_t lower = replay::wrapping_add(halved.peak, static_cast<std::int64_t>(segment.inputs));
  if (!worthwhile(replay::wrapping_sub(peak.bytes, lower), peak.bytes)) return std::nullopt;
  Finding finding = finding_at(analysis, "recompute-peak", memory, peak);
  finding.bytes = again;
  finding.site = segment.site;
  finding.title = fmt::format("recomputed activations of one checkpointed segment: {} in {} blocks, phase {}",
                              size(again), count(segment.blocks), finding.phase);
  finding.evidence = {
      fmt::format("{} bytes in {} blocks were made again and are alive at the peak of {} bytes", segment.again,
                  segment.blocks, peak.bytes),
      fmt::format("with half of them the peak would be {} bytes, and at most {} more for the inputs of as many "
                  "more segments",
                  halved.peak, segment.inputs),
      fmt::format("recomputed in {} steps", halved.steps.size())};
  finding.sentences = {
      fmt::format("They make the peak of {}: {} of tensors in {}; with segments half as long at most {}.",
                  memory_name(memory), size(peak.bytes), when(analysis.phase_name(peak.path), peak.step),
                  size(lower)),
      fmt::format("Most of them come from {}.", analysis.symbolizer->site(segment.site).title())};
  finding.remedy = fmt::format(
      "smaller segments: checkpoint_sequential with twice as many, or checkpoint of each layer, or of "
      "attention and MLP apart: -{} at least",
      size(replay::wrapping_sub(peak.bytes, lower)));
  finding.no_remedy = "longer segments: they keep fewer inputs, and make more again at once";
  return finding;
}

void propose_recompute_in(ProcessAnalysis& analysis, MemoryId memory, PeakCandidates& out) {
  const replay::Peak& peak = analysis.account.peaks.at(memory).tensor;
  if (peak.bytes <= 0 || peak.bucket) return;
  const RecomputedSegment segment = segment_at(analysis, analysis.set({memory, Measure::tensor, peak.at}));
  const auto again = static_cast<std::int64_t>(segment.again);
  const auto inputs = static_cast<std::int64_t>(segment.inputs);
  if (!worthwhile(again / 2 - inputs, peak.bytes)) return;
  out.push_back({{.memory = memory, .stacks = segment.stacks, .born = KnownPhase::recompute, .parts = 2},
                 [&analysis, memory, segment](const replay::Without& halved) {
                   return judge(analysis, memory, segment, halved);
                 }});
}

} // namespace

PeakCandidates propose_recompute(ProcessAnalysis& analysis) {
  return in_each_memory(analysis, propose_recompute_in);
}

} // namespace memtrace::report
