// Purpose: what the first step with an update added for good, and what only it needed.
#include "analyzer/explain/first_step.h"

#include <algorithm>

#include "analyzer/explain/leading_peak.h"
#include "analyzer/explain/leak_steps.h"
#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::report {
namespace {

using replay::Holding;
using replay::Instant;
using replay::Step;

std::int64_t sum_of(const std::vector<HolderRow>& rows) {
  std::int64_t out = 0;
  for (const HolderRow& row : rows) out = replay::wrapping_add(out, row.bytes);
  return out;
}

// Returns the last typical step with events of its own. Near the first step, the batch that it loaded for the
// next one is still alive, and would look as if it stayed for good.
Step last_typical(const ProcessAnalysis& analysis) {
  const std::vector<Step>& steps = analysis.steady.steps;
  const auto last =
      std::find_if(steps.rbegin(), steps.rend(), [&](Step step) { return analysis.account.whole(step); });
  return last != steps.rend() ? *last : analysis.steady.representative;
}

} // namespace

std::unordered_set<format::StackId> stacks_made_after(const ProcessAnalysis& analysis, Step step) {
  std::unordered_set<format::StackId> out;
  for (const auto& [instant, alive] : analysis.sets)
    for (const Holding& holding : alive)
      if (holding.born_step > step) out.insert(holding.stack);
  return out;
}

FirstStep compare_first_step(ProcessAnalysis& analysis, replay::MemoryId memory,
                             const std::vector<format::StackId>& leaked) {
  const LeadingPeak leading = leading_peak(analysis, memory);
  FirstStep out;
  out.step = std::max(analysis.account.first_update, Step{0});
  out.typical = analysis.steady.steps;
  const auto highest = [&](Step step) {
    return highest_in(analysis.account, step, memory, leading.measure)
        .value_or(Instant{memory, leading.measure, 0});
  };
  const Instant then = highest(out.step), later = highest(last_typical(analysis));
  auto sets = alive_at(analysis, {then, later});
  const auto born_then = [&](const Holding& holding) {
    return holding.born_step == out.step && !holding.sampled &&
           std::find(leaked.begin(), leaked.end(), holding.stack) == leaked.end();
  };
  std::unordered_set<format::StackId> again = stacks_made_after(analysis, out.step);
  replay::Holdings good, only;
  for (const Holding& holding : sets[later]) {
    if (!born_then(holding)) continue;
    good.push_back(holding);
    again.insert(holding.stack);
  }
  for (const Holding& holding : sets[then])
    if (born_then(holding) && !again.contains(holding.stack)) only.push_back(holding);
  out.good_rows = holder_rows(analysis, good, HolderDetail::by_line);
  out.only_then_rows = holder_rows(analysis, only, HolderDetail::by_line);
  out.for_good = sum_of(out.good_rows);
  out.only_then = sum_of(out.only_then_rows);
  return out;
}

} // namespace memtrace::report
