// Purpose: compares a report with budgets.
#pragma once

#include <vector>

#include "analyzer/budget/budget.h"
#include "analyzer/budget/measured.h"

namespace memtrace::budget {

struct BudgetVerdict {
  MemoryBudget budget;
  Measured measured;
  bool kept() const { return measured.figure <= budget.limit; }
};

using BudgetVerdicts = std::vector<BudgetVerdict>;

// Judges the budgets of --max. Throws UsageError if the report has no figure for one of them: a budget that
// compares nothing must not pass.
BudgetVerdicts judge(const Json& report, const std::vector<MemoryBudget>& budgets);

// Judges the budgets of a baseline. What the new report lacks is 0.
BudgetVerdicts judge_baseline(const Json& report, const std::vector<MemoryBudget>& budgets);

bool all_kept(const BudgetVerdicts& verdicts);

} // namespace memtrace::budget
