// Purpose: finds memory that only the first step needed.
#include "analyzer/findings/peak/first_step_only.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include "analyzer/explain/first_step.h"
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
using replay::Role;
using replay::Step;

constexpr std::int64_t kFewestLater = 2; // steps without such blocks

std::int64_t number(Step step) {
  return static_cast<std::int64_t>(step);
}

// Returns the step of the first update. Before it, an optimizer has no states, and a scaler may skip updates.
Step first_of(const replay::Account& account) {
  return std::max(account.first_update, Step{0});
}

// True for roles that training creates once and needs from then on.
bool belongs(Role role) {
  return replay::is_kept(role) || role == Role::workspace || role == Role::context;
}

// Returns the blocks that each line of the program made in the first step. At the peak of tensors it takes the
// tensors; at the peak of live bytes, the other blocks.
std::map<std::string, SiteTotals> lines_of_first_step(ProcessAnalysis& analysis, replay::Instant peak,
                                                      Step first) {
  const std::unordered_set<format::StackId> later =
      stacks_made_after(analysis, first); // avoids most measurements
  std::map<std::string, SiteTotals> out;
  for (const Holding& holding : analysis.set(peak)) { // largest first
    if (holding.tensor != (peak.measure == Measure::tensor)) continue;
    if (holding.born_step == Step::none || holding.born_step > first || belongs(holding.role)) continue;
    if (holding.sampled || holding.stack == format::StackId{} || later.contains(holding.stack)) continue;
    if (holding.born_known == replay::KnownPhase::data) continue; // a data set that is read once
    const symbols::Site& site = analysis.symbolizer->site(holding.stack);
    out[site.where + "\n" + site.caller].add(analysis, holding);
  }
  return out;
}

// True for memory with which cuDNN measured its algorithms.
bool is_for_measuring(const symbols::Site& site) {
  const auto frames = symbols::frames_of_allocation(site);
  return std::any_of(frames.begin(), frames.end(), [](const symbols::SiteFrame& frame) {
    return frameworks::measures_convolutions(frame.function);
  });
}

void say(Finding& finding, ProcessAnalysis& analysis, const SiteTotals& candidate,
         const replay::Without& without, const replay::Peak& peak, Measure measure, bool freed) {
  const symbols::Site& site = analysis.symbolizer->site(candidate.site);
  const std::string made = fmt::format("{} in {}", size(finding.bytes), when(finding.phase, finding.step));
  const std::string last = count(static_cast<std::uint64_t>(analysis.account.last_step));
  finding.title =
      fmt::format("{}: {} in step {} only", site.title(), size(finding.bytes), number(finding.step));
  finding.evidence = {
      fmt::format("{} bytes in {} blocks, alive at the peak of {} bytes", candidate.bytes, candidate.blocks,
                  peak.bytes),
      fmt::format("born in step {}, none in the {} steps after it", number(*without.steps.rbegin()),
                  number(analysis.account.last_step) - number(*without.steps.rbegin())),
      freed ? fmt::format("alive {}, gone by step {}", duration(static_cast<double>(candidate.lifetime) / 1e9),
                          number(without.last_held) + 1)
            : fmt::format("still held in step {}", last),
      fmt::format("the peak would be {} bytes without them", without.peak)};
  const std::string rest = fmt::format("without it the peak is {}, in {}", size(without.peak),
                                       when(analysis.phase_name(without.path), without.step));
  if (freed) {
    finding.sentences = {
        fmt::format("It makes the peak of {}: {} of {} in step {}; {}.", memory_name(finding.memory),
                    size(peak.bytes), measure == Measure::tensor ? "tensors" : "live bytes", number(peak.step),
                    rest),
        fmt::format("It lived {}, and no later step of {} made it again: the steady steps do not need it.",
                    duration(static_cast<double>(candidate.lifetime) / 1e9), last)};
    const std::string less = size(replay::wrapping_sub(peak.bytes, without.peak));
    if (is_for_measuring(site)) {
      finding.sentences.push_back("cuDNN took it to measure its algorithms for convolutions of this shape.");
      finding.remedy = fmt::format("torch.backends.cudnn.benchmark = False: -{} at the peak", less);
    } else {
      finding.remedy = fmt::format(
          "make it before the first step, where there is room, piece by piece, or on disk: -{} at the peak",
          less);
    }
  } else {
    finding.sentences = {
        fmt::format("It was made once, {}, and is still held in step {}; {}.", made, last, rest),
        "It is not a parameter, gradient or optimizer state that memtrace knows of."};
    finding.remedy = fmt::format("del it where nothing reads it any more, or keep it on disk: -{}",
                                 size(replay::wrapping_sub(peak.bytes, without.peak)));
  }
  if (!site.caller.empty()) finding.sentences.push_back("Called from " + site.caller + ".");
  finding.no_remedy =
      "what lowers the memory of every step (batch, checkpointing, optimizer): this is not of them";
}

const replay::Peak& peak_of(const ProcessAnalysis& analysis, MemoryId memory, Measure measure) {
  const replay::MemoryPeaks& peaks = analysis.account.peaks.at(memory);
  return measure == Measure::live ? peaks.live : peaks.tensor;
}

std::optional<Finding> judge(ProcessAnalysis& analysis, MemoryId memory, Measure measure,
                             const SiteTotals& candidate, const replay::Without& without) {
  const replay::Peak& peak = peak_of(analysis, memory, measure);
  const Step first = first_of(analysis.account);
  const bool freed = without.last_held <= first;
  if (without.steps.empty() || *without.steps.rbegin() > first || (!freed && measure == Measure::live))
    return std::nullopt;
  if (!worthwhile(replay::wrapping_sub(peak.bytes, without.peak), peak.bytes)) return std::nullopt;
  Finding finding = finding_at(analysis, "first-step-only", memory, peak);
  finding.phase = candidate.phase;
  finding.step = candidate.step;
  finding.bytes = static_cast<std::int64_t>(candidate.bytes);
  finding.certain = freed && finding.certain;
  finding.site = candidate.site;
  finding.lifetime = candidate.lifetime;
  say(finding, analysis, candidate, without, peak, measure, freed);
  return finding;
}

void propose_first_step_in(ProcessAnalysis& analysis, MemoryId memory, Measure measure, PeakCandidates& out) {
  const replay::Peak& peak = peak_of(analysis, memory, measure);
  const Step first = first_of(analysis.account);
  if (peak.bytes <= 0 || peak.bucket || peak.step == Step::none) return;
  if (number(analysis.account.last_step) - number(first) < kFewestLater) return;
  for (const auto& [place, line] : lines_of_first_step(analysis, {memory, measure, peak.at}, first)) {
    if (!worthwhile(static_cast<std::int64_t>(line.bytes), peak.bytes)) continue;
    out.push_back({{.memory = memory, .measure = measure, .stacks = line.stacks},
                   [&analysis, memory, measure, line = line](const replay::Without& without) {
                     return judge(analysis, memory, measure, line, without);
                   }});
  }
}

} // namespace

PeakCandidates propose_first_step(ProcessAnalysis& analysis) {
  PeakCandidates out;
  for (const auto& [memory, peaks] : analysis.account.peaks)
    propose_first_step_in(analysis, memory, Measure::tensor, out);
  propose_first_step_in(analysis, 0, Measure::live, out);
  return out;
}

} // namespace memtrace::report
