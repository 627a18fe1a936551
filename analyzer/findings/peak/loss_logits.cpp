// Purpose: finds logits and the blocks of their size that the loss creates.
#include "analyzer/findings/peak/loss_logits.h"

#include <fmt/core.h>

#include <algorithm>
#include <unordered_set>

#include "analyzer/explain/thresholds.h"
#include "analyzer/findings/common/finding_at_peak.h"
#include "analyzer/frameworks/function_names.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

using replay::Holding;
using replay::Measure;
using replay::MemoryId;

constexpr std::uint64_t kChunks = 8;
constexpr std::size_t kNamed = 4; // sites that the sentences name

bool of_loss(const symbols::Site& site) {
  for (const symbols::SiteFrame& frame : site.frames) {
    if (frame.python) return false;
    if (frameworks::computes_loss(frame.function)) return true;
  }
  return false;
}

struct LossFamily {
  const Holding* loss = nullptr;
  std::uint64_t bytes = 0; // alive at the peak
  std::uint64_t blocks = 0;
  std::vector<const Holding*> all;
};

const Holding* loss_holding(ProcessAnalysis& analysis, const replay::Holdings& alive) {
  const Holding* out = nullptr;
  for (const Holding& holding : alive) {
    if (!holding.tensor || replay::is_kept(holding.role) || holding.stack == format::StackId{}) continue;
    if (out != nullptr && holding.largest <= out->largest) continue;
    if (of_loss(analysis.symbolizer->site(holding.stack))) out = &holding;
  }
  return out;
}

// Blocks of an earlier step are not of this loss: something keeps them.
LossFamily family_of(ProcessAnalysis& analysis, const replay::Holdings& alive,
                     const std::vector<replay::Sizes>& sizes, replay::Step step) {
  LossFamily out;
  out.loss = loss_holding(analysis, alive);
  for (const Holding& holding : alive) { // largest first
    if (holding.born_step != replay::Step::none && holding.born_step < step) continue;
    if (!holding.tensor || replay::is_kept(holding.role) || !has_one_of(holding, sizes)) continue;
    out.bytes += holding.bytes;
    out.blocks += holding.blocks;
    out.all.push_back(&holding);
  }
  return out;
}

// Returns the stacks of kept blocks such as gradients and states, as far as any set shows them. Some may have
// the size of the loss by chance.
std::unordered_set<format::StackId> of_others(const ProcessAnalysis& analysis, MemoryId memory) {
  std::unordered_set<format::StackId> out;
  for (const auto& [instant, alive] : analysis.sets) {
    if (instant.memory != memory || instant.measure != Measure::tensor) continue;
    for (const Holding& holding : alive)
      if (replay::is_kept(holding.role)) out.insert(holding.stack);
  }
  return out;
}

void say(Finding& finding, ProcessAnalysis& analysis, const LossFamily& family,
         const replay::Without& without) {
  const replay::Peak& peak = analysis.account.peaks.at(finding.memory).tensor;
  const std::string each = family.blocks == 1 ? "1 block" : count(family.blocks) + " blocks";
  finding.title = fmt::format("logits and what the loss makes of them: {} in {} of {}, phase {}",
                              size(finding.bytes), each, sized(family.loss->largest), finding.phase);
  finding.evidence = {
      fmt::format("{} bytes in {} of the size of what the loss made, {} bytes, alive at the peak "
                  "of {} bytes",
                  family.bytes, each, family.loss->largest, peak.bytes),
      fmt::format("the peak would be {} bytes with the loss in {} parts", without.peak, kChunks),
      fmt::format("seen in {} steps", without.steps.size())};
  finding.sentences = {
      fmt::format("They make the peak of {}: {} of tensors in {}; with the loss in {} parts {}.",
                  memory_name(finding.memory), size(peak.bytes),
                  when(analysis.phase_name(peak.path), peak.step), kChunks, size(without.peak))};
  std::string sites;
  for (const Holding* holding : family.all) {
    const std::string title = analysis.symbolizer->site(holding->stack).title();
    finding.evidence.push_back(fmt::format("{} bytes: {}", holding->bytes, title));
    if (finding.evidence.size() > 3 + kNamed) continue;
    sites += fmt::format("{}{} {}", sites.empty() ? "" : "; ", sized(holding->bytes), title);
  }
  finding.sentences.push_back(sites + ".");
  finding.remedy = fmt::format(
      "the loss in parts, so that the logits are never there as a whole: "
      "torch.nn.functional.linear_cross_entropy with options=torch.nn.LinearCrossEntropyOptions(), another "
      "fused linear cross entropy, or a loop over {} parts of the rows, each under checkpoint: -{}",
      kChunks, size(replay::wrapping_sub(peak.bytes, without.peak)));
  finding.no_remedy = "gradient checkpointing of the layers, or another optimizer: the logits stay";
}

std::optional<Finding> judge(ProcessAnalysis& analysis, MemoryId memory, const LossFamily& family,
                             const replay::Without& without) {
  const replay::Peak& peak = analysis.account.peaks.at(memory).tensor;
  if (!worthwhile(replay::wrapping_sub(peak.bytes, without.peak), peak.bytes)) return std::nullopt;
  Finding finding = finding_at(analysis, "loss-logits", memory, peak);
  finding.bytes = static_cast<std::int64_t>(family.bytes);
  finding.site = family.loss->stack;
  for (const Holding* holding : family.all) finding.stacks.push_back(holding->stack);
  say(finding, analysis, family, without);
  return finding;
}

void propose_loss_in(ProcessAnalysis& analysis, MemoryId memory, PeakCandidates& out) {
  const replay::Peak& peak = analysis.account.peaks.at(memory).tensor;
  if (peak.bytes <= 0 || peak.bucket) return;
  const replay::Holdings& alive = analysis.set({memory, Measure::tensor, peak.at});
  const std::vector<replay::Sizes> sizes = loss_sizes(analysis, alive);
  const LossFamily family = family_of(analysis, alive, sizes, peak.step);
  if (!worthwhile(static_cast<std::int64_t>(family.bytes), peak.bytes)) return;
  out.push_back({{.memory = memory,
                  .parts = kChunks,
                  .sizes = sizes,
                  .spared = of_others(analysis, memory),
                  .of_present_step = true,
                  .before_update = true},
                 [&analysis, memory, family](const replay::Without& without) {
                   return judge(analysis, memory, family, without);
                 }});
}

} // namespace

std::vector<replay::Sizes> loss_sizes(ProcessAnalysis& analysis, const replay::Holdings& alive) {
  constexpr std::uint64_t kMore = 24; // one 24th: in a sequence of 25 tokens, the last token has no target
  const Holding* const loss = loss_holding(analysis, alive);
  if (loss == nullptr) return {};
  std::vector<replay::Sizes> out;
  for (const std::uint64_t bytes : {loss->largest / 2, loss->largest, 2 * loss->largest})
    out.push_back({bytes, bytes + bytes / kMore});
  return out;
}

bool has_one_of(const Holding& holding, const std::vector<replay::Sizes>& sizes) {
  return std::any_of(sizes.begin(), sizes.end(), [&](const replay::Sizes& one) {
    return one.from <= holding.largest && holding.largest <= one.to;
  });
}

PeakCandidates propose_loss(ProcessAnalysis& analysis) {
  return in_each_memory(analysis, propose_loss_in);
}

} // namespace memtrace::report
