// Purpose: finds forward passes that keep a graph which no backward uses.
#include "analyzer/findings/peak/unused_graph.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>

#include "analyzer/explain/thresholds.h"
#include "analyzer/findings/common/finding_at_peak.h"
#include "analyzer/passes/unused_graphs.h"
#include "analyzer/replay/wrapping_sum.h"
#include "analyzer/wording/units.h"

namespace memtrace::report {
namespace {

using replay::KnownPhase;
using replay::MemoryId;

// True if some step has more forwards than backwards. A trace without such a step is not replayed.
bool has_spare_forwards(const ProcessAnalysis& analysis) {
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

// Returns the leaks that consist of these graphs: what the graphs hold beside their own blocks, such as their
// inputs, grows with them.
Findings leaks_of_graphs(const Findings& leaks, MemoryId memory, const replay::UnusedGraphs& graphs) {
  Findings out;
  for (const Finding& leak : leaks)
    if (leak.memory == memory &&
        std::any_of(leak.stacks.begin(), leak.stacks.end(), [&](format::StackId stack) {
          return stack != format::StackId{} && graphs.bytes.contains(stack);
        }))
      out.push_back(leak);
  return out;
}

// Adds the rate of a leak, its lines and its blocks to the graphs that it consists of.
void add_leak(Finding& graphs, const Finding& leak) {
  graphs.title += fmt::format("; memory grows by {} every step", size(leak.bytes));
  graphs.evidence.insert(graphs.evidence.end(), leak.evidence.begin(), leak.evidence.end());
  graphs.sentences.insert(graphs.sentences.begin(), leak.sentences.front());
  graphs.sentences.insert(graphs.sentences.end(), leak.sentences.begin() + 1, leak.sentences.end());
  graphs.stacks.insert(graphs.stacks.end(), leak.stacks.begin(), leak.stacks.end());
  std::sort(graphs.stacks.begin(), graphs.stacks.end());
  graphs.stacks.erase(std::unique(graphs.stacks.begin(), graphs.stacks.end()), graphs.stacks.end());
}

std::optional<Finding> judge_graph(ProcessAnalysis& analysis, MemoryId memory,
                                   const replay::UnusedGraphs& graphs, const Findings& leaks,
                                   const replay::Without& without) {
  const replay::Peak& peak = analysis.account.peaks.at(memory).tensor;
  // Without a graph, a layer needs its input and its output all the same.
  const std::int64_t lower = replay::wrapping_add(without.peak, 2 * static_cast<std::int64_t>(graphs.largest));
  const std::int64_t saved = replay::wrapping_sub(peak.bytes, lower);
  if (!worthwhile(saved, peak.bytes)) return std::nullopt;
  Finding finding = finding_at(analysis, "graph-kept-in-eval", memory, peak);
  finding.bytes = without.most;
  finding.saving = PeakSaving{replay::Measure::tensor, saved};
  finding.certain = finding.certain && graphs.most_in_a_row >= 3 && !analysis.death;
  const ModelCall call = model_call(analysis, graphs.bytes);
  finding.site = call.largest;
  for (const auto& [stack, bytes] : graphs.bytes) finding.stacks.push_back(stack);
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
  finding.no_remedy = "model.eval() alone: it changes dropout and batch norm, and autograd goes on";
  for (const Finding& leak : leaks) add_leak(finding, leak);
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
  const Findings grown = leaks_of_graphs(leaks, memory, graphs);
  for (const Finding& leak : grown) excluded.left_by_steps.insert(leak.stacks.begin(), leak.stacks.end());
  excluded.left_by_steps.erase(format::StackId{});
  out.push_back({std::move(excluded), [&analysis, memory, graphs, grown](const replay::Without& without) {
                   return judge_graph(analysis, memory, graphs, grown, without);
                 }});
}

} // namespace

PeakCandidates propose_unused_graph(ProcessAnalysis& analysis, const Findings& leaks) {
  PeakCandidates out;
  for (const auto& [memory, peaks] : analysis.account.peaks) propose_graph_in(analysis, memory, leaks, out);
  return out;
}

} // namespace memtrace::report
