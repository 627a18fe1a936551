// Purpose: finds pinned host memory that was not requested, or that is not used any more.
#include "analyzer/findings/peak/pinned_memory.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyzer/explain/thresholds.h"
#include "analyzer/findings/common/finding_at_peak.h"
#include "analyzer/passes/pinned_cache.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/labels.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

using format::Kind;
using replay::Holding;
using replay::Measure;

constexpr std::uint64_t kFewestReports = 4;
constexpr std::uint64_t kLeastIdle = 32 << 20;

// The bytes that PyTorch's pinned allocator took beyond the requested ones.
struct PinnedRounding {
  std::uint64_t spare = 0;
  std::uint64_t asked = 0;
  const Holding* most = nullptr; // the holding with most spare bytes
};

PinnedRounding rounding_in(const replay::Holdings& alive) {
  PinnedRounding out;
  for (const Holding& holding : alive) { // largest first
    if (holding.kind != Kind::pinned) continue;
    if (holding.role != replay::Role::rounding) {
      out.asked += holding.bytes;
      continue;
    }
    if (out.most == nullptr) out.most = &holding;
    out.spare += holding.bytes;
  }
  return out;
}

std::optional<Finding> judge(ProcessAnalysis& analysis, const PinnedRounding& rounding,
                             const replay::Without& without) {
  const replay::Peak& peak = analysis.account.peaks.at(0).live;
  const std::int64_t saved = replay::wrapping_sub(peak.bytes, without.peak);
  if (!worthwhile(saved, peak.bytes)) return std::nullopt;
  Finding finding = finding_at(analysis, "pinned-rounding", 0, peak);
  finding.bytes = static_cast<std::int64_t>(rounding.spare);
  finding.site = rounding.most->stack;
  finding.title = fmt::format("pinned memory: {} taken for {} that were asked for",
                              sized(rounding.asked + rounding.spare), sized(rounding.asked));
  finding.evidence = {fmt::format("{} bytes beyond {} asked for, pinned at the peak of {} bytes",
                                  rounding.spare, rounding.asked, peak.bytes),
                      fmt::format("the peak would be {} bytes without them", without.peak)};
  finding.sentences = {
      fmt::format("PyTorch's pinned allocator takes powers of two; {} of it was not asked for, {}.",
                  sized(rounding.spare), analysis.place(peak.path, peak.step))};
  if (rounding.most->stack != format::StackId{})
    finding.sentences.push_back(fmt::format("The most, {}, comes from {}.", sized(rounding.most->bytes),
                                            analysis.symbolizer->site(rounding.most->stack).title()));
  finding.remedy = fmt::format(
      "PYTORCH_CUDA_ALLOC_CONF=pinned_max_round_threshold_mb:1, so that only small blocks are rounded: -{}; or "
      "sizes just below a power of two",
      size(saved));
  finding.no_remedy = "empty_host_cache(): these bytes belong to blocks that are in use";
  return finding;
}

} // namespace

PeakCandidates propose_pinned_rounding(ProcessAnalysis& analysis) {
  const replay::Peak& peak = analysis.account.peaks.at(0).live;
  if (peak.bytes <= 0 || peak.bucket) return {};
  const PinnedRounding rounding = rounding_in(analysis.set({0, Measure::live, peak.at}));
  if (rounding.most == nullptr || !worthwhile(static_cast<std::int64_t>(rounding.spare), peak.bytes)) return {};
  return {{{.measure = Measure::live, .rounding = true}, [&analysis, rounding](const replay::Without& without) {
             return judge(analysis, rounding, without);
           }}};
}

Findings find_pinned_cache(ProcessAnalysis& analysis) {
  const replay::MemoryPeaks& peaks = analysis.account.peaks.at(0);
  if (peaks.live.bytes <= 0 || peaks.live.bucket) return {};
  if (!peaks.reserved || peaks.reserved->bytes <= 0) return {}; // the allocator made no report
  const replay::PinnedCache cache =
      replay::pinned_cache(*analysis.trace, std::max(analysis.account.first_update, replay::Step{0}));
  if (cache.reports < kFewestReports || cache.idle < kLeastIdle) return {};
  if (!worthwhile(static_cast<std::int64_t>(cache.idle), peaks.live.bytes)) return {};
  Finding finding = finding_at(analysis, "pinned-cache-held", 0, peaks.live);
  finding.bytes = static_cast<std::int64_t>(cache.idle);
  const replay::Holdings& alive = analysis.set({0, Measure::live, peaks.live.at});
  const auto most = std::find_if(alive.begin(), alive.end(),
                                 [](const Holding& holding) { return holding.kind == Kind::pinned; });
  if (most != alive.end()) finding.site = most->stack;
  finding.title = fmt::format("pinned memory: {} that no tensor is in any more", sized(cache.idle));
  finding.evidence = {
      fmt::format(
          "at {} ends of phases after the first step at least {} bytes were in no block that is in use, of "
          "{} that PyTorch's pinned allocator held",
          cache.reports, cache.idle, cache.held),
      fmt::format("the peak of host is {} bytes", peaks.live.bytes)};
  finding.sentences = {
      "It keeps what was freed for the next tensor of that size, and gives nothing back by itself; "
      "the later steps took none of this."};
  finding.remedy = fmt::format(
      "torch.accelerator.empty_host_cache() once what was pinned is done with (a load, a first step): -{}; or "
      "no pin_memory for what is used once",
      sized(cache.idle));
  finding.no_remedy = "torch.cuda.empty_cache() or gc.collect(): neither reaches it";
  return {std::move(finding)};
}

} // namespace memtrace::report
