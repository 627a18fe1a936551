// Room: report. Needs names, so it stands behind symbols.
// Job: the lists of temporaries that torch.optim's foreach path makes.
#include "report/foreach.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "fold/without.h"
#include "fold/wrap.h"
#include "report/units.h"
#include "report/worth.h"

namespace memtrace::report {
namespace {

using fold::Holding;
using fold::Known;
using fold::Measure;
using fold::MemoryId;
using fold::Role;

// Temporaries that one foreach call took, all alive at the peak.
struct Candidate {
  std::uint64_t bytes = 0;
  std::uint64_t largest = 0; // bytes of the largest tensor
  std::uint64_t tensors = 0;
  std::uint64_t lifetime = 0;
  format::StackId site{}; // of the largest group
  std::unordered_set<format::StackId> stacks;
};

bool calls_foreach(const symbols::Site& site) {
  for (const symbols::SiteFrame& frame : site.frames) {
    if (frame.python) return false;
    if (symbols::operator_of(frame.function).rfind("_foreach_", 0) == 0) return true;
  }
  return false;
}

std::map<std::string, Candidate> candidates(View& view, const fold::Holdings& alive) {
  std::map<std::string, Candidate> out;
  for (const Holding& holding : alive) { // largest first
    if (holding.role != Role::temporary || holding.born_known != Known::step) continue;
    if (holding.stack == format::StackId{}) continue;
    const symbols::Site& site = view.symbolizer->site(holding.stack);
    if (!calls_foreach(site)) continue;
    Candidate& candidate = out[site.title()];
    if (candidate.stacks.empty()) candidate.site = holding.stack, candidate.lifetime = holding.lifetime;
    candidate.bytes += holding.bytes;
    candidate.tensors += holding.blocks;
    candidate.largest = std::max(candidate.largest, holding.largest);
    candidate.stacks.insert(holding.stack);
  }
  return out;
}

std::size_t optimizer_steps(const View& view) {
  std::set<fold::Step> steps;
  for (const fold::Row& row : view.account.rows) {
    if (row.count != 0 && view.account.paths.text(view.account.paths.last(row.path)) == "step")
      steps.insert(row.step);
  }
  return steps.size();
}

std::string times_parameters(const View& view, std::uint64_t bytes) {
  if (!view.facts().parameters || view.facts().parameters->bytes == 0) return {};
  return fmt::format(" = {:.3f} P",
                     static_cast<double>(bytes) / static_cast<double>(view.facts().parameters->bytes));
}

// What the two other paths of torch.optim would save. There is a fused one for few optimizers.
std::string remedy(const Candidate& candidate, std::int64_t saved, const std::string& where) {
  const auto in = [&](const char* file) { return where.rfind(file, 0) == 0; };
  const bool fused = in("torch/optim/adam.py:") || in("torch/optim/adamw.py:") || in("torch/optim/sgd.py:") ||
                     in("torch/optim/adagrad.py:");
  // How much either switch saves is known where this list is the only one that they spare: in Adam and AdamW.
  // Adagrad, SGD and others make several, and these figures were wrong for them.
  if (!in("torch/optim/adam.py:") && !in("torch/optim/adamw.py:"))
    return std::string(fused ? "fused=True; or " : "") + "foreach=False, slower";
  const auto bytes = static_cast<std::int64_t>(candidate.bytes);
  std::string text;
  if (fused) {
    text = fmt::format("fused=True: -{}", size(saved));
    if (bytes > saved) text += fmt::format(" at the peak, -{} in the step", size(bytes));
  }
  // One tensor after the other: two temporaries of the largest stay.
  const std::int64_t loop = fold::minus(bytes, 2 * candidate.largest);
  if (loop <= 0) return text;
  return text + fmt::format("{}foreach=False: -{} at most, and slower", fused ? "; or " : "",
                            size(std::min(saved, loop)));
}

// Several lists of one operator may be alive together: then their tensors are more than the parameters are.
std::string all_tensors(const View& view, const Candidate& candidate) {
  const auto& parameters = view.facts().parameters;
  if (parameters && candidate.tensors > parameters->tensors) return "all parameters";
  return fmt::format("all {} tensors", count(candidate.tensors));
}

void say(Finding& finding, const View& view, const Candidate& candidate, const fold::Without& without,
         const symbols::Site& site) {
  const std::int64_t peak = view.account.peaks.at(finding.memory).tensor.bytes;
  const std::string alive = duration(static_cast<double>(candidate.lifetime) / 1e9);
  const std::string seen = fmt::format("seen in {} of {} steps", without.steps.size(), optimizer_steps(view));
  finding.title = fmt::format("{}, phase step: {}{}, alive {}", site.title(), size(finding.bytes),
                              times_parameters(view, candidate.bytes), alive);
  finding.remedy = remedy(candidate, fold::minus(peak, without.peak), site.where);
  finding.evidence = {fmt::format("{} bytes in {} tensors, alive together at the peak of {} bytes",
                                  candidate.bytes, candidate.tensors, peak),
                      fmt::format("the peak would be {} bytes without them", without.peak), seen,
                      fmt::format("born and freed inside the step, alive {}", alive)};
  finding.sentences = {
      fmt::format("It makes the peak of {}: {} of tensors in step {}; without it {}.",
                  memory_name(finding.memory), size(peak), static_cast<std::int64_t>(finding.step),
                  size(without.peak)),
      fmt::format("The optimizer's foreach path makes {} for {} at once and frees it when the step ends.",
                  site.op.empty() ? "it" : "its result", all_tensors(view, candidate)),
      site.caller.empty() ? fmt::format("Seen in {} of {} steps.", without.steps.size(), optimizer_steps(view))
                          : fmt::format("Called from {} ({}).", site.caller, seen)};
}

// What such temporaries leave alone: what forward made for backward.
std::string no_remedy(const fold::Holdings& alive) {
  std::int64_t activations = 0;
  for (const Holding& holding : alive)
    if (holding.role == Role::activation) activations = fold::plus(activations, holding.bytes);
  return fmt::format("gradient checkpointing or a smaller batch: activations are {} of this peak",
                     size(activations));
}

void of_memory(View& view, MemoryId memory, std::vector<Finding>& out) {
  const fold::Peak& peak = view.account.peaks.at(memory).tensor;
  if (peak.bytes <= 0 || peak.bucket || view.account.paths.text(view.account.paths.last(peak.path)) != "step")
    return;
  const fold::Holdings& alive = view.set({memory, Measure::tensor, peak.at});
  for (const auto& [title, candidate] : candidates(view, alive)) {
    if (!worthwhile(static_cast<std::int64_t>(candidate.bytes), peak.bytes)) continue; // spares a pass
    const fold::Without without =
        fold::peaks_without(*view.trace,
                            {{.memory = memory, .stacks = candidate.stacks, .born = fold::Known::step}})
            .front();
    if (!worthwhile(fold::minus(peak.bytes, without.peak), peak.bytes)) continue;
    Finding finding;
    finding.id = "foreach-temporaries";
    finding.memory = memory;
    finding.phase = "step";
    finding.step = peak.step;
    finding.bytes = static_cast<std::int64_t>(candidate.bytes);
    finding.certain = view.losses.total() == 0;
    finding.site = candidate.site;
    finding.lifetime = candidate.lifetime;
    finding.no_remedy = no_remedy(alive);
    say(finding, view, candidate, without, view.symbolizer->site(candidate.site));
    out.push_back(std::move(finding));
  }
}

} // namespace

std::vector<Finding> find_foreach(View& view) {
  std::vector<Finding> out;
  for (const auto& [memory, peaks] : view.account.peaks) of_memory(view, memory, out);
  return out;
}

} // namespace memtrace::report
