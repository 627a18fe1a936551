// Purpose: finds forward passes that keep a graph which no backward uses.
#include "analyzer/findings/peak/unused_graph.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <unordered_set>
#include <utility>

#include "analyzer/explain/thresholds.h"
#include "analyzer/findings/common/finding_at_peak.h"
#include "analyzer/passes/unused_graphs.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

using replay::KnownPhase;
using replay::MemoryId;

// True if some step has more forwards than backwards, and a forward was followed by something else than its
// backward. Without both, a trace is not replayed. The second one is false if a process died in its forward.
bool has_spare_forwards(const ProcessAnalysis& analysis) {
  if (analysis.account.forwards_without_backward == 0) return false;
  const replay::Paths& paths = analysis.account.paths;
  std::map<replay::Step, std::int64_t> spare;
  for (const replay::Row& row : analysis.account.rows) {
    const KnownPhase known = replay::known_phase(paths.text(paths.last(row.path)));
    if (known == KnownPhase::forward) spare[row.step] += static_cast<std::int64_t>(row.count);
    if (known == KnownPhase::backward) spare[row.step] -= static_cast<std::int64_t>(row.count);
  }
  return std::any_of(spare.begin(), spare.end(), [](const auto& step) { return step.second > 0; });
}

// Returns the bytes of activations at the peak.
std::uint64_t activations(const replay::Holdings& alive) {
  std::uint64_t out = 0;
  for (const replay::Holding& holding : alive)
    if (holding.tensor && !replay::is_kept(holding.role) &&
        (holding.born_known == KnownPhase::forward || holding.born_known == KnownPhase::loss))
      out += holding.bytes;
  return out;
}

struct ModelCall {
  std::string line;
  format::StackId largest{}; // of its tensors
};

// Returns the user's line that called most of the forward passes, by bytes. A graph also holds tensors that
// were made elsewhere, such as its input. Without a call of a module, returns the line of the largest tensor.
ModelCall model_call(const ProcessAnalysis& analysis, const std::map<format::StackId, std::uint64_t>& bytes) {
  std::map<std::string, std::uint64_t> of_line;
  const auto line_of = [&](format::StackId stack) { return analysis.symbolizer->site(stack).pass_line; };
  for (const auto& [stack, held] : bytes)
    if (const std::string line = line_of(stack); !line.empty()) of_line[line] += held;
  const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
  if (of_line.empty()) {
    const format::StackId stack = std::max_element(bytes.begin(), bytes.end(), less)->first;
    return {analysis.symbolizer->site(stack).line(), stack};
  }
  ModelCall out{std::max_element(of_line.begin(), of_line.end(), less)->first};
  std::uint64_t most = 0;
  for (const auto& [stack, held] : bytes)
    if (held > most && line_of(stack) == out.line) most = held, out.largest = stack;
  return out;
}

using Places = std::set<std::pair<std::string, std::string>>;

std::pair<std::string, std::string> place_of(ProcessAnalysis& analysis, format::StackId stack) {
  const symbols::Site& site = analysis.symbolizer->site(stack);
  return {site.where, site.caller};
}

// Returns the places of these graphs: what autograd allocates there beside large tensors is theirs, too.
Places places_of(ProcessAnalysis& analysis, const replay::UnusedGraphs& graphs) {
  Places out;
  for (const auto& [stack, bytes] : graphs.bytes)
    if (stack != format::StackId{}) out.insert(place_of(analysis, stack));
  return out;
}

bool is_at(ProcessAnalysis& analysis, const Places& places, format::StackId stack) {
  return stack != format::StackId{} && places.contains(place_of(analysis, stack));
}

// Returns the leaks that have blocks of these graphs: what the graphs hold beside their own blocks, such as
// their inputs, grows with them.
Findings leaks_of_graphs(ProcessAnalysis& analysis, const Findings& leaks, MemoryId memory,
                         const Places& places) {
  Findings out;
  for (const Finding& leak : leaks)
    if (leak.memory == memory &&
        std::any_of(leak.stacks.begin(), leak.stacks.end(),
                    [&](format::StackId stack) { return is_at(analysis, places, stack); }))
      out.push_back(leak);
  return out;
}

// Adds the rate of the leaks and their lines to the graphs that they consist of.
void add_leaks(Finding& graphs, const Findings& leaks) {
  if (leaks.empty()) return;
  std::int64_t rate = 0;
  std::ptrdiff_t at = 0;
  for (const Finding& leak : leaks) {
    rate = replay::wrapping_add(rate, leak.bytes);
    graphs.evidence.insert(graphs.evidence.end(), leak.evidence.begin(), leak.evidence.end());
    graphs.sentences.insert(graphs.sentences.begin() + at++, leak.sentences.front());
  }
  const Finding& first = leaks.front();
  graphs.sentences.insert(graphs.sentences.end(), first.sentences.begin() + 1, first.sentences.end());
  graphs.title += fmt::format("; memory grows by {} every step", size(rate));
}

// Returns what the passes save without a graph, where a layer needs its input and its output all the same.
std::int64_t saved_without(const replay::Peak& peak, const replay::UnusedGraphs& graphs,
                           const replay::Without& without) {
  const std::int64_t lower = replay::wrapping_add(without.peak, 2 * static_cast<std::int64_t>(graphs.largest));
  return replay::wrapping_sub(peak.bytes, lower);
}

// `beside`: other stacks at the places of the graphs. `with_leaks`: what the passes save at most, with all that
// the leaks left. The program may hold that for another reason: a dataset that keeps its samples, or a list of
// outputs.
std::optional<Finding> judge_graph(ProcessAnalysis& analysis, MemoryId memory,
                                   const replay::UnusedGraphs& graphs, const Findings& leaks,
                                   const std::unordered_set<format::StackId>& beside,
                                   const replay::Without& without, std::optional<std::int64_t> with_leaks) {
  const replay::Peak& peak = analysis.account.peaks.at(memory).tensor;
  const std::int64_t saved = saved_without(peak, graphs, without);
  if (!worthwhile(saved, peak.bytes)) return std::nullopt;
  const std::int64_t lower = replay::wrapping_sub(peak.bytes, saved);
  Finding finding = finding_at(analysis, "graph-kept-in-eval", memory, peak);
  finding.bytes = without.most;
  finding.saving = PeakSaving{replay::Measure::tensor, saved};
  finding.certain = finding.certain && graphs.most_in_a_row >= 3 && !analysis.death;
  const ModelCall call = model_call(analysis, graphs.bytes);
  finding.site = call.largest;
  for (const auto& [stack, bytes] : graphs.bytes) finding.stacks.push_back(stack);
  finding.stacks.insert(finding.stacks.end(), beside.begin(), beside.end());
  std::sort(finding.stacks.begin(), finding.stacks.end());
  finding.stacks.erase(std::unique(finding.stacks.begin(), finding.stacks.end()), finding.stacks.end());
  const std::string passes = graphs.passes == 1 ? "1 forward pass keeps a graph"
                                                : count(graphs.passes) + " forward passes keep graphs";
  finding.title =
      fmt::format("{} that no backward uses: {} at once, at {}", passes, size(finding.bytes), call.line);
  finding.evidence = {
      fmt::format("{} bytes of activations at once, in {} forward passes, up to {} in a row without a backward",
                  finding.bytes, graphs.passes, graphs.most_in_a_row),
      "no backward freed these activations",
      fmt::format("the peak of {} bytes would be at most {} bytes without them", peak.bytes, lower)};
  finding.sentences = {fmt::format("The peak of tensors is {} {}; without these graphs at most {}.",
                                   size(peak.bytes), analysis.place(peak.path, peak.step), size(lower))};
  finding.remedy = fmt::format("run these passes under torch.no_grad() or torch.inference_mode(): -{} at least",
                               size(saved));
  if (with_leaks && replay::wrapping_sub(*with_leaks, saved) >= peak.bytes / 100)
    finding.remedy +=
        fmt::format(", and -{} if nothing else holds their inputs and outputs", size(*with_leaks));
  finding.no_remedy = "model.eval() alone: it changes dropout and batch norm, and autograd goes on";
  add_leaks(finding, leaks);
  return finding;
}

void propose_graph_in(ProcessAnalysis& analysis, MemoryId memory, const Findings& leaks, PeakCandidates& out) {
  const replay::Peak& peak = analysis.account.peaks.at(memory).tensor;
  if (peak.bytes <= 0 || peak.bucket || !has_spare_forwards(analysis)) return;
  const std::uint64_t most = activations(analysis.set({memory, replay::Measure::tensor, peak.at}));
  if (!worthwhile(static_cast<std::int64_t>(most), peak.bytes)) return;
  const replay::LastPasses last = analysis.death               ? replay::LastPasses::cut_off
                                  : analysis.end.how == "exit" ? replay::LastPasses::complete
                                                               : replay::LastPasses::open;
  replay::UnusedGraphs graphs = replay::unused_graphs(*analysis.trace, memory, last);
  if (graphs.births.empty()) return;
  replay::Excluded excluded{.memory = memory};
  excluded.births = std::move(graphs.births);
  const Places places = places_of(analysis, graphs);
  const Findings grown = leaks_of_graphs(analysis, leaks, memory, places);
  replay::Excluded with_leaks = excluded;
  for (const Finding& leak : grown)
    for (const format::StackId stack : leak.stacks) {
      if (stack != format::StackId{}) with_leaks.left_by_steps.insert(stack);
      if (is_at(analysis, places, stack) && !graphs.outputs.contains(stack))
        excluded.left_by_steps.insert(stack);
    }
  const auto at_most = std::make_shared<std::optional<std::int64_t>>(); // candidates are judged in order
  if (with_leaks.left_by_steps.size() > excluded.left_by_steps.size())
    out.push_back({std::move(with_leaks), [peak, graphs, at_most](const replay::Without& without) {
                     *at_most = saved_without(peak, graphs, without);
                     return std::optional<Finding>();
                   }});
  const auto beside = excluded.left_by_steps;
  out.push_back({std::move(excluded),
                 [&analysis, memory, graphs, grown, beside, at_most](const replay::Without& without) {
                   return judge_graph(analysis, memory, graphs, grown, beside, without, *at_most);
                 }});
}

} // namespace

PeakCandidates propose_unused_graph(ProcessAnalysis& analysis, const Findings& leaks) {
  PeakCandidates out;
  for (const auto& [memory, peaks] : analysis.account.peaks) propose_graph_in(analysis, memory, leaks, out);
  return out;
}

} // namespace memtrace::report
