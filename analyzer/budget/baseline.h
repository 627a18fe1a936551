// Purpose: the budgets that an earlier report sets for a later one.
#pragma once

#include <string>
#include <vector>

#include "analyzer/budget/budget.h"
#include "analyzer/budget/measured.h"

namespace memtrace::budget {

// Returns budgets for the peaks (live, tensor, reserved), the phases and the growth of the old report. Each may
// grow by `tolerance` (0.05: 5 %). The live bytes may also grow by 1 MiB, because small blocks vary from run to
// run.
std::vector<MemoryBudget> budgets_of(const Json& old, double tolerance);

// Returns the budgets of a file that `memtrace report --format json` wrote. Throws UsageError if the file is
// not a report, or has no figure to compare with.
std::vector<MemoryBudget> baseline_budgets(const std::string& path, double tolerance);

} // namespace memtrace::budget
