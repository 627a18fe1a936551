// Room: report. Needs names, so it stands behind symbols.
// Job: what a trace proves about the causes of its peaks.
#include "report/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "report/units.h"

namespace memtrace::report {
namespace {

using fold::Holding;
using fold::Known;
using fold::Measure;
using fold::MemoryId;
using fold::Role;

constexpr double kWorthwhile = 0.05; // of the peak, by the contract

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

void say(Finding& finding, const View& view, const Candidate& candidate, const fold::Peak& peak,
         const fold::Without& without, const std::string& site, const std::string& caller,
         const std::string& op) {
  const std::string memory = memory_name(finding.memory);
  const std::size_t seen = without.steps.size();
  const std::int64_t saved = peak.bytes - without.peak;
  const std::int64_t loop =
      static_cast<std::int64_t>(candidate.bytes) - 2 * static_cast<std::int64_t>(candidate.largest);
  finding.title = fmt::format("{}, phase step: {}{}, alive {}", site, size(finding.bytes),
                              times_parameters(view, candidate.bytes),
                              duration(static_cast<double>(candidate.lifetime) / 1e9));
  finding.remedy = fmt::format("fused=True: -{}", size(saved));
  if (loop > 0) finding.remedy += fmt::format("; or foreach=False: -{}, slower", size(std::min(saved, loop)));
  finding.evidence = {fmt::format("{} bytes in {} tensors, alive together at the peak of {} bytes",
                                  candidate.bytes, candidate.tensors, peak.bytes),
                      fmt::format("the peak would be {} bytes without them", without.peak),
                      fmt::format("seen in {} of {} steps", seen, optimizer_steps(view)),
                      fmt::format("born and freed inside the step, alive {}",
                                  duration(static_cast<double>(candidate.lifetime) / 1e9))};
  const std::string name = op.empty() ? "The foreach path" : op;
  finding.sentences = {
      fmt::format("It makes the peak of {}: {} of tensors in step {}; without it {}.", memory, size(peak.bytes),
                  static_cast<std::int64_t>(peak.step), size(without.peak)),
      fmt::format("{} takes all {} tensors at once, and they are freed when the optimizer's step ends.", name,
                  count(candidate.tensors)),
      caller.empty()
          ? fmt::format("Seen in {} of {} steps.", seen, optimizer_steps(view))
          : fmt::format("Called from {} (seen in {} of {} steps).", caller, seen, optimizer_steps(view))};
}

void foreach_temporaries(View& view, MemoryId memory, std::vector<Finding>& out) {
  const fold::Peak& peak = view.account.peaks.at(memory).tensor;
  if (peak.bytes <= 0 || view.account.paths.text(view.account.paths.last(peak.path)) != "step") return;
  for (const auto& [site, candidate] : candidates(view, view.set({memory, Measure::tensor, peak.at}))) {
    const auto bytes = static_cast<double>(candidate.bytes);
    if (bytes < kWorthwhile * static_cast<double>(peak.bytes)) continue; // spares a pass over the trace
    const fold::Without without = fold::peak_without(*view.trace, memory, candidate.stacks);
    if (static_cast<double>(peak.bytes - without.peak) < kWorthwhile * static_cast<double>(peak.bytes))
      continue;
    const symbols::Site& named = view.symbolizer->site(candidate.site);
    Finding finding;
    finding.id = "foreach-temporaries";
    finding.memory = memory;
    finding.phase = "step";
    finding.step = peak.step;
    finding.bytes = static_cast<std::int64_t>(candidate.bytes);
    finding.certain = view.losses.total() == 0;
    finding.site = candidate.site;
    finding.lifetime = candidate.lifetime;
    say(finding, view, candidate, peak, without, site, named.caller, named.op);
    out.push_back(std::move(finding));
  }
}

} // namespace

std::vector<Finding> find(View& view) {
  std::vector<Finding> out;
  for (const auto& [memory, peaks] : view.account.peaks) foreach_temporaries(view, memory, out);
  std::stable_sort(out.begin(), out.end(),
                   [](const Finding& a, const Finding& b) { return a.bytes > b.bytes; });
  return out;
}

} // namespace memtrace::report
