// Purpose: finds the lists of temporaries that torch.optim's foreach path creates.
#include "analyzer/findings/peak/foreach_temporaries.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "analyzer/explain/thresholds.h"
#include "analyzer/findings/common/finding_at_peak.h"
#include "analyzer/frameworks/function_names.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

using replay::Holding;
using replay::KnownPhase;
using replay::Measure;
using replay::MemoryId;
using replay::Role;

bool calls_foreach(const symbols::Site& site) {
  for (const symbols::SiteFrame& frame : site.frames) {
    if (frame.python) return false;
    if (frameworks::is_foreach(frame.function)) return true;
  }
  return false;
}

// Returns the temporaries alive at the peak, by foreach call.
std::map<std::string, SiteTotals> foreach_lists(ProcessAnalysis& analysis, const replay::Holdings& alive) {
  std::map<std::string, SiteTotals> out;
  for (const Holding& holding : alive) { // largest first
    if (holding.role != Role::temporary || holding.born_known != KnownPhase::step) continue;
    if (holding.stack == format::StackId{}) continue;
    const symbols::Site& site = analysis.symbolizer->site(holding.stack);
    if (!calls_foreach(site)) continue;
    out[site.title()].add(analysis, holding);
  }
  return out;
}

std::size_t optimizer_steps(const ProcessAnalysis& analysis) {
  std::set<replay::Step> steps;
  for (const replay::Row& row : analysis.account.rows) {
    if (row.count != 0 && analysis.account.paths.text(analysis.account.paths.last(row.path)) == "step")
      steps.insert(row.step);
  }
  return steps.size();
}

// Returns the savings of the two other paths of torch.optim. Few optimizers have a fused path.
std::string remedy(const SiteTotals& candidate, std::int64_t saved, const std::string& where) {
  const auto [fused, one_list] = frameworks::optimizer_at(where);
  // The saving is known only if a switch avoids just this list, as in Adam and AdamW. Adagrad, SGD and others
  // create several lists, and these figures were wrong for them.
  if (!one_list) return std::string(fused ? "fused=True; or " : "") + "foreach=False, slower";
  const auto bytes = static_cast<std::int64_t>(candidate.bytes);
  std::string text;
  if (fused) {
    text = fmt::format("fused=True: -{}", size(saved));
    if (bytes > saved) text += fmt::format(" at the peak, -{} in the step", size(bytes));
  }
  // The loop handles one tensor after the other: two temporaries of the largest size remain.
  const std::int64_t loop = replay::wrapping_sub(bytes, 2 * candidate.largest);
  if (loop <= 0) return text;
  return text + fmt::format("{}foreach=False: -{} at most, and slower", fused ? "; or " : "",
                            size(std::min(saved, loop)));
}

// Several lists of one operator may be alive together. They then have more tensors than the model has
// parameters.
std::string all_tensors(const ProcessAnalysis& analysis, const SiteTotals& candidate) {
  const auto& parameters = analysis.facts().parameters;
  if (parameters && candidate.blocks > parameters->tensors) return "all parameters";
  return fmt::format("all {} tensors", count(candidate.blocks));
}

void say(Finding& finding, const ProcessAnalysis& analysis, const SiteTotals& candidate,
         const replay::Without& without, const symbols::Site& site) {
  const std::int64_t peak = analysis.account.peaks.at(finding.memory).tensor.bytes;
  const std::string alive = duration(static_cast<double>(candidate.lifetime) / 1e9);
  const std::string seen =
      fmt::format("seen in {} of {} steps", without.steps.size(), optimizer_steps(analysis));
  finding.title = fmt::format("The optimizer's temporaries set the peak: {}{}, alive {}", size(finding.bytes),
                              times_parameters(analysis, candidate.bytes), alive);
  finding.remedy = remedy(candidate, replay::wrapping_sub(peak, without.peak), site.where);
  finding.evidence = {fmt::format("{} bytes in {} tensors, alive together at the peak of {} bytes",
                                  candidate.bytes, candidate.blocks, peak),
                      fmt::format("the peak would be {} bytes without them", without.peak), seen,
                      fmt::format("born and freed inside the step, alive {}", alive)};
  finding.sentences = {
      fmt::format("{}{}, {}.", site.op.empty() ? site.where : site.op + " at " + site.where,
                  site.caller.empty() ? "" : " <- " + site.caller, seen),
      fmt::format("The foreach path makes the result of {} at once and frees it when the update ends.",
                  all_tensors(analysis, candidate)),
      fmt::format("The peak of tensors is {} in update {}; without them {}.", size(peak),
                  static_cast<std::int64_t>(finding.step), size(without.peak))};
}

// Returns a remedy that would not help: it lowers the activations, which forward made for backward.
std::string no_remedy(const replay::Holdings& alive) {
  std::int64_t activations = 0;
  for (const Holding& holding : alive)
    if (holding.role == Role::activation) activations = replay::wrapping_add(activations, holding.bytes);
  return fmt::format("gradient checkpointing or a smaller batch: activations are {} of this peak",
                     size(activations));
}

std::optional<Finding> judge(ProcessAnalysis& analysis, MemoryId memory, const SiteTotals& candidate,
                             const replay::Without& without) {
  const replay::Peak& peak = analysis.account.peaks.at(memory).tensor;
  if (!worthwhile(replay::wrapping_sub(peak.bytes, without.peak), peak.bytes)) return std::nullopt;
  Finding finding = finding_at(analysis, "foreach-temporaries", memory, peak);
  finding.bytes = static_cast<std::int64_t>(candidate.bytes);
  finding.site = candidate.site;
  finding.lifetime = candidate.lifetime;
  finding.no_remedy = no_remedy(analysis.set({memory, Measure::tensor, peak.at}));
  say(finding, analysis, candidate, without, analysis.symbolizer->site(candidate.site));
  return finding;
}

void propose_foreach_in(ProcessAnalysis& analysis, MemoryId memory, PeakCandidates& out) {
  const replay::Peak& peak = analysis.account.peaks.at(memory).tensor;
  if (peak.bytes <= 0 || peak.bucket ||
      analysis.account.paths.text(analysis.account.paths.last(peak.path)) != "step")
    return;
  const replay::Holdings& alive = analysis.set({memory, Measure::tensor, peak.at});
  for (const auto& [title, list] : foreach_lists(analysis, alive)) {
    if (!worthwhile(static_cast<std::int64_t>(list.bytes), peak.bytes)) continue;
    out.push_back({{.memory = memory, .stacks = list.stacks, .born = KnownPhase::step},
                   [&analysis, memory, list = list](const replay::Without& without) {
                     return judge(analysis, memory, list, without);
                   }});
  }
}

} // namespace

PeakCandidates propose_foreach(ProcessAnalysis& analysis) {
  return in_each_memory(analysis, propose_foreach_in);
}

} // namespace memtrace::report
