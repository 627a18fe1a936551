// Purpose: the steps that a report shows, and the source of each: its own events, or the rollup.
#include "analyzer/attribute/step_selection.h"

#include <algorithm>
#include <map>
#include <set>

namespace memtrace::replay {
namespace {

using Steps = std::map<Step, std::vector<const Row*>>;

// Adds the rows that describe a step. If all events of the step are there, these are its own rows, except for
// phases that were open in a gap. Any other step has the rows of its step range, or else its own incomplete
// rows. For Step::none, the source is chosen phase by phase.
void answer(Step step, const Account& account, const Steps& steps, const Buckets& buckets,
            std::vector<ShownRow>& out) {
  const auto at = steps.find(step);
  const auto folded = buckets.of(step);
  const bool whole = account.whole(step) && (account.stride == 1 || at != steps.end());
  if (!whole && step != Step::none && !folded.empty()) {
    for (const BucketRow& row : folded) out.push_back({&row.most, step, &row});
    return;
  }
  std::set<PathId> told;
  if (at != steps.end()) {
    for (const Row* row : at->second) {
      const bool missing = row->partial || (!whole && row->count == 0);
      const BucketRow* bucket = missing ? buckets.find(step, row->path) : nullptr;
      out.push_back({bucket != nullptr ? &bucket->most : row, step, bucket});
      told.insert(row->path);
    }
  }
  if (step != Step::none) return;
  for (const BucketRow& row : folded) {
    if (!told.contains(row.most.path)) out.push_back({&row.most, step, &row});
  }
}

bool detailed(const BucketRow& row, const Account& account) {
  return std::any_of(account.detail.begin(), account.detail.end(), [&](const StepSpan& span) {
    return span.first <= row.steps.first && row.steps.last <= span.last;
  });
}

void all_steps(const Account& account, const Steps& steps, const Buckets& buckets, std::vector<ShownRow>& out) {
  for (const auto& [step, rows] : steps) {
    if (step == Step::none || account.whole(step) || buckets.of(step).empty())
      answer(step, account, steps, buckets, out);
  }
  if (!steps.contains(Step::none)) answer(Step::none, account, steps, buckets, out);
  for (const BucketRow& row : buckets.rows) {
    if (row.steps.first != Step::none && !detailed(row, account))
      out.push_back({&row.most, row.steps.first, &row});
  }
}

bool in_range(Step step, const StepRange& range) {
  const auto number = static_cast<std::uint64_t>(step);
  return step != Step::none && number >= range.from && number <= range.to;
}

} // namespace

Shown choose(const Account& account, const Buckets& buckets, const StepChoice& choice) {
  const Step last = std::max(account.last_step, buckets.steps.last);
  std::set<Step> wanted = {Step::none, Step{0}, Step{1}, last};
  for (const auto& [memory, peaks] : account.peaks) {
    wanted.insert(peaks.live.step);
    wanted.insert(peaks.tensor.step);
  }
  Shown shown;
  shown.steady = !choice.all && !choice.range;
  for (const Row& row : account.rows) {
    if (choice.all || (choice.range ? in_range(row.step, *choice.range) : wanted.contains(row.step)))
      shown.kept.push_back(row);
  }
  std::sort(shown.kept.begin(), shown.kept.end(), [](const Row& a, const Row& b) { return a.began < b.began; });
  Steps steps;
  for (const Row& row : shown.kept) steps[row.step].push_back(&row);
  if (choice.all) {
    all_steps(account, steps, buckets, shown.rows);
  } else if (choice.range) {
    const auto end = static_cast<std::uint64_t>(std::max(last, Step{0}));
    std::size_t number = 0;
    for (std::uint64_t step = choice.range->from; step <= std::min(choice.range->to, end); ++step) {
      shown.cut = ++number > kMostSteps;
      if (shown.cut) break;
      answer(static_cast<Step>(step), account, steps, buckets, shown.rows);
    }
  } else {
    for (const Step step : wanted) answer(step, account, steps, buckets, shown.rows);
  }
  // Without a rollup, rows are in the order in which they began, whatever their step: a phase without a step
  // may come late.
  if (buckets.rows.empty()) {
    std::sort(shown.rows.begin(), shown.rows.end(),
              [](const ShownRow& a, const ShownRow& b) { return a.row->began < b.row->began; });
  } else {
    std::stable_sort(shown.rows.begin(), shown.rows.end(),
                     [](const ShownRow& a, const ShownRow& b) { return a.as < b.as; });
  }
  return shown;
}

} // namespace memtrace::replay
