// Purpose: finds peaks of steps that follow the size of the step's batch.
#include "analyzer/findings/peak/input_driven.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <unordered_set>

#include "analyzer/explain/leading_peak.h"
#include "analyzer/explain/leak_steps.h"
#include "analyzer/explain/thresholds.h"
#include "analyzer/findings/common/finding_at_peak.h"
#include "analyzer/passes/batch_sizes.h"
#include "analyzer/replay/percentile.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

using replay::KnownPhase;
using replay::MemoryId;
using replay::Step;

constexpr double kLeastExplained = 0.9; // r^2
constexpr double kCertain = 0.98;       // r^2
constexpr double kMostResidual = 0.1;   // of the peak, in the step of the peak
constexpr double kLeastSpread = 1.25;   // the largest batch, in median batches
constexpr std::size_t kPercentile = 90; // of the batches; the larger ones are the exceptions

// One step of training: its largest batch and its highest level of tensors.
struct BatchStep {
  Step step = Step::none;
  std::int64_t batch = 0; // bytes
  std::int64_t peak = 0;  // bytes
};

KnownPhase known_of(const ProcessAnalysis& analysis, replay::PathId path) {
  const replay::Paths& paths = analysis.account.paths;
  return replay::known_phase(paths.text(paths.last(path)));
}

bool makes_activations(KnownPhase phase) {
  return phase == KnownPhase::forward || phase == KnownPhase::loss || phase == KnownPhase::recompute ||
         phase == KnownPhase::backward;
}

// Returns the highest level of tensors in each step that can be judged. The first update makes states. The last
// step is complete only if the process exited.
std::map<Step, std::int64_t> step_peaks(const ProcessAnalysis& analysis, MemoryId memory) {
  LeakSteps range = leak_steps(analysis.account);
  if (analysis.end.how == "exit" && analysis.after_training == Step::none) ++range.to;
  std::map<Step, std::int64_t> out;
  for (const replay::Row& row : analysis.account.rows) {
    const auto step = static_cast<std::int64_t>(row.step);
    if (row.count == 0 || row.partial || step < range.from || step > range.to) continue;
    if (!makes_activations(known_of(analysis, row.path))) continue;
    std::int64_t& peak = out[row.step];
    peak = std::max(peak, row.of(memory).tensor.peak);
  }
  return out;
}

// True if the peak is in a step that can be judged, and clearly above that of a typical one. A trace without
// such a peak is not replayed.
bool stands_out(const replay::Peak& peak, const std::map<Step, std::int64_t>& peaks) {
  const auto own = peaks.find(peak.step);
  if (peak.bucket || own == peaks.end() || own->second != peak.bytes) return false;
  if (static_cast<std::int64_t>(peaks.size()) < kFewestSteps) return false;
  std::vector<std::int64_t> sorted;
  sorted.reserve(peaks.size());
  for (const auto& [step, bytes] : peaks) sorted.push_back(bytes);
  std::sort(sorted.begin(), sorted.end());
  return worthwhile(replay::wrapping_sub(peak.bytes, sorted[(sorted.size() - 1) / 2]), peak.bytes);
}

std::vector<BatchStep> batch_steps(const std::map<Step, std::int64_t>& peaks, const replay::BatchSizes& sizes,
                                   MemoryId memory) {
  std::vector<BatchStep> out;
  for (const MemoryId of : {memory, MemoryId{0}}) { // a batch on the host drives a GPU's peak, too
    const auto known = sizes.find(of);
    if (known == sizes.end()) continue;
    out.clear();
    for (const auto& [step, peak] : peaks)
      if (const auto size = known->second.find(step); size != known->second.end())
        out.push_back({step, static_cast<std::int64_t>(size->second), peak});
    if (out.size() == peaks.size()) return out;
  }
  return {};
}

// A line through the peaks by the size of the batch.
struct PeakLine {
  double slope = 0;     // bytes of the peak per byte of the batch
  double base = 0;      // bytes of a step without a batch
  double explained = 0; // r^2
  double at(std::int64_t batch) const { return base + slope * static_cast<double>(batch); }
};

PeakLine line_through(const std::vector<BatchStep>& steps) {
  const auto count = static_cast<double>(steps.size());
  double mean_batch = 0, mean_peak = 0;
  for (const BatchStep& one : steps) {
    mean_batch += static_cast<double>(one.batch) / count;
    mean_peak += static_cast<double>(one.peak) / count;
  }
  double batches = 0, peaks = 0, both = 0;
  for (const BatchStep& one : steps) {
    const double batch = static_cast<double>(one.batch) - mean_batch;
    const double peak = static_cast<double>(one.peak) - mean_peak;
    batches += batch * batch, peaks += peak * peak, both += batch * peak;
  }
  if (batches <= 0 || peaks <= 0) return {};
  const double slope = both / batches;
  return {slope, mean_peak - slope * mean_batch, both * both / (batches * peaks)};
}

// Returns the highest level of the process without the steps of larger batches.
std::int64_t peak_of_others(const ProcessAnalysis& analysis, MemoryId memory,
                            const std::vector<BatchStep>& steps, std::int64_t largest) {
  std::unordered_set<Step> larger;
  for (const BatchStep& one : steps)
    if (one.batch > largest) larger.insert(one.step);
  std::int64_t out = 0;
  for (const replay::Row& row : analysis.account.rows)
    if (row.count != 0 && !larger.contains(row.step)) out = std::max(out, row.of(memory).tensor.peak);
  return out;
}

struct ForwardCall {
  std::string line;
  format::StackId largest{}; // of the activations at the peak
};

// Returns the user's line that called the model, by the activations of the step that were alive at the peak.
std::optional<ForwardCall> forward_call(const ProcessAnalysis& analysis, const replay::Holdings& alive,
                                        Step step) {
  std::optional<ForwardCall> out;
  for (const replay::Holding& one : alive) { // the largest first
    if (!one.tensor || one.born_step != step || one.stack == format::StackId{}) continue;
    if (replay::is_kept(one.role) || !makes_activations(one.born_known)) continue;
    const symbols::Site& site = analysis.symbolizer->site(one.stack);
    if (!site.pass_line.empty()) return ForwardCall{site.pass_line, one.stack};
    if (!out) out = ForwardCall{site.line(), one.stack};
  }
  return out;
}

// The figures of a peak that the largest batch makes.
struct DrivenPeak {
  BatchStep own;           // the step of the peak
  std::int64_t median = 0; // bytes of the median batch
  std::int64_t usual = 0;  // bytes of the batch at the 90th percentile
  std::size_t steps = 0;   // that were compared
  PeakLine line;
  double off = 0;         // bytes between the line and the peak
  std::int64_t lower = 0; // the peak without larger batches
  ForwardCall call;
};

Finding driven_finding(const ProcessAnalysis& analysis, MemoryId memory, const DrivenPeak& of) {
  const replay::Peak& peak = analysis.account.peaks.at(memory).tensor;
  const std::int64_t saved = replay::wrapping_sub(peak.bytes, of.lower);
  const auto peak_at_median = std::llround(of.line.at(of.median));
  const auto times = static_cast<double>(of.own.batch) / static_cast<double>(of.median);
  const auto number = static_cast<std::int64_t>(peak.step);
  Finding out = finding_at(analysis, "input-driven-peak", memory, peak);
  out.bytes = saved;
  out.saving = PeakSaving{replay::Measure::tensor, saved};
  out.certain = out.certain && of.line.explained >= kCertain;
  out.site = of.call.largest;
  out.title = fmt::format(
      "The largest batch makes the peak of tensors: step {} has {:.1f} times the median batch and takes {} "
      "instead of {}, at {}",
      number, times, size(peak.bytes), size(peak_at_median), of.call.line);
  out.evidence = {
      fmt::format(
          "the batch of step {} has {} bytes; of {} steps, the median is {} bytes and the {}th percentile "
          "{} bytes",
          number, of.own.batch, of.steps, of.median, kPercentile, of.usual),
      fmt::format(
          "a byte of the batch takes {:.1f} bytes at the peak of its step (r^2 {:.3f}; step {} is off by "
          "{:.1f} %)",
          of.line.slope, of.line.explained, number, 100 * of.off / static_cast<double>(peak.bytes)),
      fmt::format(
          "without the steps of larger batches than the {}th percentile, the peak of {} bytes is {} bytes",
          kPercentile, peak.bytes, of.lower)};
  out.sentences = {fmt::format(
      "A byte of the batch takes {:.1f} bytes at the peak of its step (r^2 {:.2f} over {} steps). The batch of "
      "step {} has {} bytes, the median one {}.",
      of.line.slope, of.line.explained, of.steps, number, count(static_cast<std::uint64_t>(of.own.batch)),
      count(static_cast<std::uint64_t>(of.median)))};
  out.remedy = fmt::format(
      "put inputs of similar length in one batch, limit the tokens of a batch, or pad only to its longest "
      "input. Without batches above {} bytes (one in ten), the peak is {}: -{}",
      count(static_cast<std::uint64_t>(of.usual)), size(of.lower), size(saved));
  out.no_remedy = "torch.cuda.empty_cache(): the largest batch needs this memory when it comes";
  return out;
}

std::optional<Finding> driven_by_input(const ProcessAnalysis& analysis, MemoryId memory,
                                       const std::vector<BatchStep>& steps) {
  const replay::Peak& peak = analysis.account.peaks.at(memory).tensor;
  std::vector<std::int64_t> batches, peaks;
  for (const BatchStep& one : steps) batches.push_back(one.batch), peaks.push_back(one.peak);
  const auto own =
      std::find_if(steps.begin(), steps.end(), [&](const BatchStep& one) { return one.step == peak.step; });
  const std::int64_t median = replay::median(batches);
  const std::int64_t usual = replay::percentile(batches, kPercentile);
  if (own == steps.end() || own->batch <= usual) return std::nullopt;
  if (static_cast<double>(own->batch) < kLeastSpread * static_cast<double>(median)) return std::nullopt;
  const PeakLine line = line_through(steps);
  const double off = std::abs(line.at(own->batch) - static_cast<double>(peak.bytes));
  if (line.slope <= 0 || line.explained < kLeastExplained ||
      off > kMostResidual * static_cast<double>(peak.bytes))
    return std::nullopt;
  const std::int64_t lower = peak_of_others(analysis, memory, steps, usual);
  const std::int64_t saved = replay::wrapping_sub(peak.bytes, lower);
  // Of all allocations, too: 1 MiB of tensors said nothing beside 300 MiB of a library's kernels.
  if (!worthwhile(saved, peak.bytes) || !worthwhile(saved, live_peak(analysis, memory).bytes))
    return std::nullopt;
  const auto call = forward_call(analysis, analysis.set({memory, replay::Measure::tensor, peak.at}), peak.step);
  if (!call) return std::nullopt;

  return driven_finding(analysis, memory, {*own, median, usual, steps.size(), line, off, lower, *call});
}

} // namespace

Findings find_input_driven(ProcessAnalysis& analysis) {
  Findings out;
  std::optional<replay::BatchSizes> sizes;
  for (const auto& [memory, peaks] : analysis.account.peaks) {
    const std::map<Step, std::int64_t> of_steps = step_peaks(analysis, memory);
    if (!stands_out(peaks.tensor, of_steps)) continue;
    if (!sizes) sizes = replay::batch_sizes(*analysis.trace);
    const std::vector<BatchStep> steps = batch_steps(of_steps, *sizes, memory);
    if (steps.empty()) continue;
    if (auto finding = driven_by_input(analysis, memory, steps)) out.push_back(*std::move(finding));
  }
  return out;
}

} // namespace memtrace::report
