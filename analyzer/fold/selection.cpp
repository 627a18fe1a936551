// Room: fold. Pure: ids in, numbers out.
// Job: which steps a report shows when nobody asked for all.
#include "fold/selection.h"

#include <set>

namespace memtrace::fold {

Shown choose(const Account& account, const StepChoice& choice) {
  std::set<Step> steps = {Step::none, Step{0}, Step{1}, account.last_step};
  for (const auto& [memory, peaks] : account.peaks) {
    steps.insert(peaks.live.step);
    steps.insert(peaks.tensor.step);
  }
  Shown shown;
  shown.steady = !choice.all && !choice.range;
  for (const Row& row : account.rows) {
    const auto number = static_cast<std::uint64_t>(row.step);
    const bool in_range =
        choice.range && row.step != Step::none && number >= choice.range->from && number <= choice.range->to;
    const bool wanted = choice.all || (choice.range ? in_range : steps.contains(row.step));
    if (wanted) shown.rows.push_back(&row);
  }
  return shown;
}

} // namespace memtrace::fold
