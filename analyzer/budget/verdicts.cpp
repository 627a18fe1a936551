// Purpose: compares a report with budgets.
#include "analyzer/budget/verdicts.h"

#include <fmt/core.h>

#include <algorithm>

#include "analyzer/job/usage_error.h"
#include "analyzer/wording/utf8.h"

namespace memtrace::budget {

BudgetVerdicts judge(const Json& report, const std::vector<MemoryBudget>& budgets) {
  BudgetVerdicts out;
  for (const MemoryBudget& budget : budgets) {
    Measured measured = measure(report, budget);
    if (!measured.known)
      throw report::UsageError(report::printable(
          fmt::format("--max '{}': not in this trace; it has {}", budget.text, known_names(report, budget))));
    out.push_back({budget, std::move(measured)});
  }
  return out;
}

BudgetVerdicts judge_baseline(const Json& report, const std::vector<MemoryBudget>& budgets) {
  BudgetVerdicts out;
  for (const MemoryBudget& budget : budgets) out.push_back({budget, measure(report, budget)});
  return out;
}

bool all_kept(const BudgetVerdicts& verdicts) {
  return std::all_of(verdicts.begin(), verdicts.end(), [](const BudgetVerdict& one) { return one.kept(); });
}

} // namespace memtrace::budget
