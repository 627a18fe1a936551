// Purpose: what the first step with an update added for good, and what only it needed.
#include "analyzer/explain/first_step.h"

#include <algorithm>
#include <unordered_set>

#include "analyzer/explain/leading_peak.h"
#include "analyzer/replay/wrapping_sum.h"

namespace memtrace::report {
namespace {

using replay::Holding;
using replay::Instant;
using replay::Step;

// Returns the highest point of a step.
Instant highest_point(const ProcessAnalysis& analysis, Step step, const LeadingPeak& leading) {
  Instant out{leading.memory, leading.measure, 0};
  std::int64_t highest = 0;
  for (const replay::Row& row : analysis.account.rows) {
    if (row.step != step || row.count == 0) continue;
    const replay::MemoryRow& of = row.of(leading.memory);
    const replay::Figures& figures = leading.measure == replay::Measure::tensor ? of.tensor : of.live;
    if (figures.peak <= highest) continue;
    highest = figures.peak;
    out.at = figures.peak_at;
  }
  return out;
}

// Returns the stacks that allocate in later steps, too, as far as the blocks alive at peaks show.
std::unordered_set<format::StackId> made_later(const ProcessAnalysis& analysis, Step first) {
  std::unordered_set<format::StackId> out;
  for (const auto& [instant, alive] : analysis.sets)
    for (const Holding& holding : alive)
      if (holding.born_step > first) out.insert(holding.stack);
  return out;
}

std::int64_t sum_of(const std::vector<HolderRow>& rows) {
  std::int64_t out = 0;
  for (const HolderRow& row : rows) out = replay::wrapping_add(out, row.bytes);
  return out;
}

} // namespace

FirstStep compare_first_step(ProcessAnalysis& analysis, replay::MemoryId memory,
                             const std::vector<format::StackId>& leaked) {
  const LeadingPeak leading = leading_peak(analysis, memory);
  FirstStep out;
  out.step = std::max(analysis.account.first_update, Step{0});
  out.typical = analysis.steady.steps;
  const Instant then = highest_point(analysis, out.step, leading);
  const Instant later = highest_point(analysis, analysis.steady.representative, leading);
  auto sets = replay::alive_at(*analysis.trace, {then, later}, analysis.account.last_step);
  const auto born_then = [&](const Holding& holding) {
    return holding.born_step == out.step && !holding.sampled &&
           std::find(leaked.begin(), leaked.end(), holding.stack) == leaked.end();
  };
  std::unordered_set<format::StackId> again = made_later(analysis, out.step);
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
